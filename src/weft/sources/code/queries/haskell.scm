(data_type name: (name) @name) @type
(newtype name: (name) @name) @type
(type_synonym name: (name) @name) @type
(class name: (name) @name) @interface
(instance name: (name) @name) @scope
(signature name: (variable) @name) @function
(function name: (variable) @name) @function
(bind name: (variable) @name) @function

(apply function: (variable) @call)
(apply function: (qualified module: (module) @on id: (variable) @call))
(apply argument: (variable) @use)
(infix left_operand: (variable) @use)
(infix right_operand: (variable) @use)
(signature type: (function parameter: (name) @use))
(signature type: (function result: (name) @use))
(field type: (name) @use)

(import module: (module) @from names: (import_list name: (import_name variable: (variable) @item)))
(import module: (module) @from names: (import_list name: (import_name type: (name) @item)))
(import module: (module) @from alias: (module) @as)
(import module: (module) @from !names !alias) @all
