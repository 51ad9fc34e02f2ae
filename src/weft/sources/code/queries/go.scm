(function_declaration name: (identifier) @name body: (block) @body) @function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (pointer_type (type_identifier) @owner)
    (generic_type type: (type_identifier) @owner)
    (pointer_type (generic_type type: (type_identifier) @owner))]))
  name: (field_identifier) @name
  body: (block) @body) @function
(type_spec name: (type_identifier) @name type: (struct_type) @body) @class
(type_spec name: (type_identifier) @name type: (interface_type) @body) @interface
(type_spec name: (type_identifier) @name type: [
  (type_identifier) (slice_type) (map_type) (array_type) (function_type) (channel_type) (pointer_type)
  (qualified_type) (generic_type)]) @type

(struct_type (field_declaration_list (field_declaration !name type: [
  (type_identifier) @base
  (pointer_type (type_identifier) @base)])))
(interface_type (type_elem (type_identifier) @base))

(call_expression function: (identifier) @call)
(call_expression function: (selector_expression operand: (_) @on field: (field_identifier) @call))
(composite_literal type: (type_identifier) @call)
(composite_literal type: (qualified_type package: (_) @on name: (type_identifier) @call))
(parameter_declaration type: (type_identifier) @use)
(parameter_declaration type: (pointer_type (type_identifier) @use))
(argument_list (identifier) @use)

(import_spec !name path: (_) @from)
(import_spec name: (package_identifier) @as path: (_) @from)
