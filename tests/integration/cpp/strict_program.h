#ifndef FOREBAY_TESTS_INTEGRATION_CPP_STRICT_PROGRAM_H_
#define FOREBAY_TESTS_INTEGRATION_CPP_STRICT_PROGRAM_H_

#include <string>

namespace cpp_user {

// Runs a C++17 program that uses all of forebay.hpp, and is compiled with many
// warnings as errors. Returns the number of bytes that the program read, or
// throws forebay::Error.
unsigned long ReadStrictly(const std::string& runtime_dir,
                           const std::string& uri);

}  // namespace cpp_user

#endif  // FOREBAY_TESTS_INTEGRATION_CPP_STRICT_PROGRAM_H_
