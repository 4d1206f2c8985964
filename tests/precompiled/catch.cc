// The compiler treats this file as a header, which all tests include first: see
// BUILD.bazel.
#include "tests/catch/catch.h"

#include "tests/catch/matchers.h"
