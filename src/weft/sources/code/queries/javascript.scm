(class_declaration name: (identifier) @name body: (_) @body) @class
(class_heritage [(identifier) (member_expression)] @base)
(field_definition property: (property_identifier) @name value: (arrow_function body: (_) @body)) @function
(jsx_opening_element name: (identifier) @call)
(jsx_self_closing_element name: (identifier) @call)
