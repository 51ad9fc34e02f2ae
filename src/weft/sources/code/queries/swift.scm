(class_declaration declaration_kind: "class" name: (_) @name body: (_) @body) @class
(class_declaration declaration_kind: "struct" name: (_) @name body: (_) @body) @class
(class_declaration declaration_kind: "actor" name: (_) @name body: (_) @body) @class
(class_declaration declaration_kind: "enum" name: (_) @name body: (_) @body) @type
(class_declaration declaration_kind: "extension" name: (_) @name body: (_) @body) @scope
(protocol_declaration name: (_) @name body: (_) @body) @interface
(typealias_declaration name: (type_identifier) @name) @type
(function_declaration name: (simple_identifier) @name body: (_) @body) @function
(init_declaration "init" @name body: (_) @body) @function

(inheritance_specifier inherits_from: (user_type (type_identifier) @base))

(call_expression . (simple_identifier) @call)
(call_expression . (navigation_expression target: (_) @on suffix: (navigation_suffix suffix: (simple_identifier) @call)))
(parameter (user_type (type_identifier) @use))
(function_declaration (user_type (type_identifier) @use))
(type_annotation (user_type (type_identifier) @use))
