(class_definition name: (identifier) @name body: (block) @body) @class
(function_definition name: (identifier) @name body: (block) @body) @function
(type_alias_statement . (type (identifier) @name)) @type

(class_definition superclasses: (argument_list [(identifier) (attribute)] @base))
(class_definition superclasses: (argument_list (subscript value: [(identifier) (attribute)] @base)))

(call function: (identifier) @call)
(call function: (attribute object: (_) @on attribute: (identifier) @call))

(type (identifier) @use)
(type (generic_type (identifier) @use))
(type (binary_operator (identifier) @use))
(decorator (identifier) @use)
(argument_list (identifier) @use)
(keyword_argument value: (identifier) @use)
(return_statement (identifier) @use)

(import_statement name: (dotted_name) @from)
(import_statement name: (aliased_import name: (dotted_name) @from alias: (identifier) @as))
(import_from_statement module_name: (_) @from name: (dotted_name) @item)
(import_from_statement module_name: (_) @from name: (aliased_import name: (dotted_name) @item alias: (identifier) @as))
(import_from_statement module_name: (_) @from (wildcard_import) @all)
