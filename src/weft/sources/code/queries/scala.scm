(class_definition name: (identifier) @name body: (_)? @body) @class
(object_definition name: (identifier) @name body: (_)? @body) @class
(trait_definition name: (identifier) @name body: (_)? @body) @interface
(enum_definition name: (identifier) @name body: (_)? @body) @type
(type_definition name: (type_identifier) @name) @type
(function_definition name: (identifier) @name body: (_) @body) @function
(function_declaration name: (identifier) @name) @function

(extends_clause (type_identifier) @base)
(extends_clause (generic_type type: (type_identifier) @base))

(call_expression function: (identifier) @call)
(call_expression function: (field_expression value: (_) @on field: (identifier) @call))
(instance_expression (type_identifier) @call)
(parameter type: (type_identifier) @use)
(parameter type: (generic_type (type_arguments (type_identifier) @use)))
(class_parameter type: (type_identifier) @use)
(function_definition return_type: (type_identifier) @use)
(arguments (identifier) @use)

(import_declaration) @from
