(function_definition
  declarator: (function_declarator declarator: (identifier) @_test parameters: (parameter_list) @name)
  body: (compound_statement) @body
  (#any-of? @_test "TEST" "TEST_F" "TEST_P" "TYPED_TEST")) @test
(function_definition
  declarator: [
    (function_declarator declarator: (_) @name)
    (pointer_declarator declarator: (function_declarator declarator: (_) @name))
    (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)))]
  body: (compound_statement) @body) @function
(struct_specifier name: (type_identifier) @name body: (_) @body) @class
(union_specifier name: (type_identifier) @name body: (_) @body) @class
(enum_specifier name: (type_identifier) @name body: (_) @body) @type
(type_definition type: [(struct_specifier !name) (union_specifier !name) (enum_specifier !name)] declarator: (type_identifier) @name) @type
(preproc_function_def name: (identifier) @name) @function

(call_expression function: (identifier) @call)
(call_expression function: (field_expression argument: (_) @on field: (field_identifier) @call))
(parameter_declaration type: (type_identifier) @use)
(parameter_declaration type: (struct_specifier name: (type_identifier) @use))
(declaration type: (type_identifier) @use)
(argument_list (identifier) @use)

(preproc_include path: (string_literal) @from) @all
