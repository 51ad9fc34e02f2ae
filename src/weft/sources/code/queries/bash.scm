(function_definition name: (word) @name body: (_) @body) @function

(command name: (command_name (word) @call))

(command name: (command_name (word) @_source) . argument: (_) @from (#any-of? @_source "source" ".")) @all
