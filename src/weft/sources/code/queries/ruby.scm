(class name: (_) @name) @class
(module name: (_) @name) @module
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function

(call !receiver method: (identifier) @_test arguments: (argument_list . (string) @name) block: (_ body: (_) @body)
  (#any-of? @_test "it" "test" "specify" "should" "scenario" "example")) @test
(call method: (identifier) @_suite arguments: (argument_list . (_) @name) block: (_)
  (#any-of? @_suite "describe" "context" "feature")) @suite

(superclass [(constant) (scope_resolution)] @base)
(call method: (identifier) @_mixin arguments: (argument_list (constant) @base) (#any-of? @_mixin "include" "extend" "prepend"))

(call !receiver method: (identifier) @call)
(call receiver: (_) @on method: (identifier) @call)
(argument_list (constant) @use)
(call receiver: (constant) @use)

(call method: (identifier) @_require arguments: (argument_list . (string) @from) (#any-of? @_require "require" "require_relative"))
