(function_item name: (identifier) @name body: (block) @body) @function
(struct_item name: (type_identifier) @name) @class
(union_item name: (type_identifier) @name) @class
(enum_item name: (type_identifier) @name body: (_) @body) @type
(trait_item name: (type_identifier) @name body: (_) @body) @interface
(type_item name: (type_identifier) @name) @type
(mod_item name: (identifier) @name body: (_) @body) @module
(macro_definition name: (identifier) @name) @function
(impl_item type: [(type_identifier) (generic_type) (scoped_type_identifier)] @name body: (_) @body) @scope

; A test that a macro makes of its name and a body, as in `mytest!(lists_files, || { ... });`.
(source_file (expression_statement (macro_invocation
  (token_tree . (identifier) @name . "," (token_tree . "{") @body . ")" .))) @test)

(impl_item trait: (type_identifier) @base)
(impl_item trait: (generic_type type: (type_identifier) @base))
(trait_item bounds: (trait_bounds (type_identifier) @base))

(call_expression function: (identifier) @call)
(call_expression function: (field_expression value: (_) @on field: (field_identifier) @call))
(call_expression function: (scoped_identifier path: (_) @on name: (identifier) @call))
(macro_invocation macro: (identifier) @call)
(struct_expression name: (type_identifier) @call)
(parameter type: (type_identifier) @use)
(parameter type: (reference_type type: (type_identifier) @use))
(function_item return_type: (type_identifier) @use)
(type_arguments (type_identifier) @use)
(arguments (identifier) @use)

(use_declaration argument: (scoped_identifier path: (_) @from name: (identifier) @item))
(use_declaration argument: (use_as_clause path: (scoped_identifier path: (_) @from name: (identifier) @item) alias: (_) @as))
(use_declaration argument: (scoped_use_list path: (_) @from list: (use_list (identifier) @item)))
(use_declaration argument: (scoped_use_list path: (_) @from list: (use_list (use_as_clause path: (identifier) @item alias: (_) @as))))
(use_declaration argument: (use_wildcard (_) @from) @all)
(mod_item !body name: (identifier) @from)
