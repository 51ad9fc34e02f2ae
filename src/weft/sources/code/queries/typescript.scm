(class_declaration name: (type_identifier) @name body: (_) @body) @class
(abstract_class_declaration name: (type_identifier) @name body: (_) @body) @class
(interface_declaration name: (type_identifier) @name body: (_) @body) @interface
(type_alias_declaration name: (type_identifier) @name) @type
(enum_declaration name: (identifier) @name body: (_) @body) @type
(internal_module name: (_) @name body: (_) @body) @module
(module name: (identifier) @name body: (_) @body) @module
(function_signature name: (identifier) @name) @function
(abstract_method_signature name: (_) @name) @function
(public_field_definition name: (property_identifier) @name value: (arrow_function body: (_) @body)) @function

(extends_clause value: (_) @base)
(implements_clause (type_identifier) @base)
(extends_type_clause (type_identifier) @base)

(type_annotation (type_identifier) @use)
(type_arguments (type_identifier) @use)
(union_type (type_identifier) @use)
(array_type (type_identifier) @use)
(type_annotation (generic_type name: (type_identifier) @use))
(new_expression constructor: (member_expression object: (_) @on property: (property_identifier) @call))
