(function_declaration name: (identifier) @name body: (_) @body) @function
(generator_function_declaration name: (identifier) @name body: (_) @body) @function
(variable_declarator name: (identifier) @name value: (arrow_function body: (_) @body)) @function
(variable_declarator name: (identifier) @name value: (function_expression body: (_) @body)) @function
(variable_declarator name: (identifier) @name value: (class body: (_) @body)) @class
(assignment_expression
  left: (member_expression property: (property_identifier) @name)
  right: [(function_expression body: (_) @body) (arrow_function body: (_) @body)]) @function
(method_definition name: (_) @name body: (_) @body) @function

(call_expression
  function: [
    (identifier) @_test
    (member_expression object: (identifier) @_test)
    (call_expression function: (member_expression object: (identifier) @_test))]
  arguments: (arguments . [(string) (template_string)] @name [(function_expression body: (_) @body) (arrow_function body: (_) @body)])
  (#any-of? @_test "it" "test" "specify")) @test
(call_expression
  function: [
    (identifier) @_suite
    (member_expression object: (identifier) @_suite)
    (call_expression function: (member_expression object: (identifier) @_suite))]
  arguments: (arguments . [(string) (template_string) (identifier)] @name [(function_expression) (arrow_function)])
  (#any-of? @_suite "describe" "context" "suite")) @suite

(call_expression function: (identifier) @call)
(call_expression function: (member_expression object: (_) @on property: (property_identifier) @call))
(new_expression constructor: (identifier) @call)
(arguments (identifier) @use)
(pair value: (identifier) @use)

(import_statement (import_clause (named_imports (import_specifier !alias name: (_) @item))) source: (string) @from)
(import_statement (import_clause (named_imports (import_specifier name: (_) @item alias: (_) @as))) source: (string) @from)
(import_statement (import_clause (identifier) @as) source: (string) @from)
(import_statement (import_clause (namespace_import (identifier) @as)) source: (string) @from)
(import_statement . source: (string) @from)
(export_statement source: (string) @from)
(variable_declarator
  name: (identifier) @as
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @from))
  (#eq? @_require "require"))
(variable_declarator
  name: (object_pattern (shorthand_property_identifier_pattern) @item)
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string) @from))
  (#eq? @_require "require"))
