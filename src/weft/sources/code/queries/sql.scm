(create_table (object_reference name: (identifier) @name) (column_definitions) @body) @type
(create_view (object_reference name: (identifier) @name)) @type
(create_materialized_view (object_reference name: (identifier) @name)) @type
(create_type (object_reference name: (identifier) @name)) @type
(create_function (object_reference name: (identifier) @name) (function_body) @body) @function
(create_trigger (object_reference name: (identifier) @name)) @function

(column_definition (object_reference name: (identifier) @use))
(constraint (object_reference name: (identifier) @use))
(relation (object_reference name: (identifier) @use))
(insert (object_reference name: (identifier) @use))
(update (relation (object_reference name: (identifier) @use)))
(alter_table (object_reference name: (identifier) @use))
(create_index (object_reference name: (identifier) @use))
(invocation (object_reference name: (identifier) @call))
