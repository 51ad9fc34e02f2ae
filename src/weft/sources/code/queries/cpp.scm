(class_specifier name: (type_identifier) @name body: (_) @body) @class
(namespace_definition name: (_) @name body: (_) @body) @module
(alias_declaration name: (type_identifier) @name) @type
(function_definition
  declarator: (reference_declarator (function_declarator declarator: (_) @name))
  body: (compound_statement) @body) @function

(base_class_clause (type_identifier) @base)
(base_class_clause (template_type name: (type_identifier) @base))
(base_class_clause (qualified_identifier) @base)
(call_expression function: (qualified_identifier scope: (_) @on name: (identifier) @call))
(call_expression function: (template_function name: (identifier) @call))
(new_expression type: (type_identifier) @call)
(new_expression type: (template_type name: (type_identifier) @call))
