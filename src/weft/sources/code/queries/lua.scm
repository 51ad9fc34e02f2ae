(function_declaration name: (identifier) @name body: (_)? @body) @function
(function_declaration name: (dot_index_expression table: (_) @owner field: (identifier) @name) body: (_)? @body) @function
(function_declaration name: (method_index_expression table: (_) @owner method: (identifier) @name) body: (_)? @body) @function
(assignment_statement
  (variable_list . name: (identifier) @name .)
  (expression_list . value: (function_definition body: (_)? @body) .)) @function
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @owner field: (identifier) @name) .)
  (expression_list . value: (function_definition body: (_)? @body) .)) @function

(function_call name: (identifier) @call)
(function_call name: (dot_index_expression table: (_) @on field: (identifier) @call))
(function_call name: (method_index_expression table: (_) @on method: (identifier) @call))
(arguments (identifier) @use)

(assignment_statement
  (variable_list . name: (identifier) @as)
  (expression_list . value: (function_call
    name: (identifier) @_require
    arguments: (arguments . (string) @from)))
  (#eq? @_require "require"))
