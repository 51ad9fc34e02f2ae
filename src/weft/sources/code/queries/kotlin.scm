(class_declaration "class" name: (identifier) @name) @class
(class_declaration "interface" name: (identifier) @name) @interface
(object_declaration name: (identifier) @name) @class
(function_declaration name: (identifier) @name (function_body) @body) @function
(type_alias (identifier) @name) @type

(delegation_specifier (user_type (identifier) @base))
(delegation_specifier (constructor_invocation (user_type (identifier) @base)))

(call_expression . (identifier) @call)
(call_expression . (navigation_expression . (_) @on (identifier) @call .))
(parameter (user_type (identifier) @use))
(type_arguments (type_projection (user_type (identifier) @use)))
(function_declaration (user_type (identifier) @use))
(value_argument (identifier) @use)

(import (qualified_identifier) @from)
