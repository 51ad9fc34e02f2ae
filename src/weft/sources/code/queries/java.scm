(class_declaration name: (identifier) @name body: (_) @body) @class
(record_declaration name: (identifier) @name body: (_) @body) @class
(interface_declaration name: (identifier) @name body: (_) @body) @interface
(annotation_type_declaration name: (identifier) @name body: (_) @body) @interface
(enum_declaration name: (identifier) @name body: (_) @body) @type
(method_declaration name: (identifier) @name body: (block) @body) @function
(constructor_declaration name: (identifier) @name body: (_) @body) @function

(superclass (type_identifier) @base)
(superclass (generic_type (type_identifier) @base))
(super_interfaces (type_list (type_identifier) @base))
(super_interfaces (type_list (generic_type (type_identifier) @base)))
(extends_interfaces (type_list (type_identifier) @base))

(method_invocation !object name: (identifier) @call)
(method_invocation object: (_) @on name: (identifier) @call)
(object_creation_expression type: (type_identifier) @call)
(object_creation_expression type: (generic_type (type_identifier) @call))
(formal_parameter type: (type_identifier) @use)
(method_declaration type: (type_identifier) @use)
(field_declaration type: (type_identifier) @use)
(local_variable_declaration type: (type_identifier) @use)
(type_arguments (type_identifier) @use)

(import_declaration (scoped_identifier scope: (_) @from name: (identifier) @item) .)
(import_declaration (scoped_identifier) @from (asterisk) @all)
