(class_declaration name: (name) @name body: (_) @body) @class
(trait_declaration name: (name) @name body: (_) @body) @class
(interface_declaration name: (name) @name body: (_) @body) @interface
(enum_declaration name: (name) @name body: (_) @body) @type
(function_definition name: (name) @name body: (_) @body) @function
(method_declaration name: (name) @name body: (_) @body) @function

(base_clause [(name) (qualified_name)] @base)
(class_interface_clause [(name) (qualified_name)] @base)
(class_declaration body: (declaration_list (use_declaration (name) @base)))

(function_call_expression function: [(name) (qualified_name)] @call)
(member_call_expression object: (_) @on name: (name) @call)
(nullsafe_member_call_expression object: (_) @on name: (name) @call)
(scoped_call_expression scope: (_) @on name: (name) @call)
(object_creation_expression [(name) (qualified_name)] @call)
(simple_parameter type: (named_type (name) @use))

(namespace_use_clause (qualified_name prefix: (_) @from (name) @item) !alias)
(namespace_use_clause (qualified_name prefix: (_) @from (name) @item) alias: (name) @as)
