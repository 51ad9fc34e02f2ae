(function_declaration name: (identifier) @name body: (block) @body) @function
(variable_declaration . (identifier) @name (struct_declaration) @body) @class
(variable_declaration . (identifier) @name [(enum_declaration) (union_declaration) (error_set_declaration)] @body) @type

(call_expression function: (identifier) @call)
(call_expression function: (field_expression object: (_) @on member: (identifier) @call))
(parameter type: (identifier) @use)
(parameter type: (pointer_type (identifier) @use))
(call_expression (identifier) @use)

(variable_declaration
  . (identifier) @as
  (builtin_function (builtin_identifier) @_import (arguments (string) @from))
  (#eq? @_import "@import"))
