(class_declaration name: (identifier) @name body: (_) @body) @class
(struct_declaration name: (identifier) @name body: (_) @body) @class
(record_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name body: (_) @body) @interface
(enum_declaration name: (identifier) @name body: (_) @body) @type
(delegate_declaration name: (identifier) @name) @type
(method_declaration name: (identifier) @name body: (_) @body) @function
(constructor_declaration name: (identifier) @name body: (_) @body) @function
(local_function_statement name: (identifier) @name body: (_) @body) @function

(base_list (identifier) @base)
(base_list (generic_name (identifier) @base))
(base_list (qualified_name) @base)

(invocation_expression function: (identifier) @call)
(invocation_expression function: (generic_name (identifier) @call))
(invocation_expression function: (member_access_expression expression: (_) @on name: (identifier) @call))
(invocation_expression function: (member_access_expression "this" @on name: (identifier) @call))
(object_creation_expression type: (identifier) @call)
(parameter type: (identifier) @use)
(type_argument_list (identifier) @use)
(method_declaration returns: (identifier) @use)
(argument (identifier) @use)

(using_directive (qualified_name) @from) @all
