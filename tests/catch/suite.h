#ifndef FOREBAY_TESTS_CATCH_SUITE_H_
#define FOREBAY_TESTS_CATCH_SUITE_H_

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::tests {

// A subject of a suite (an implementation of an interface, a file, a seed) and
// its name.
template <class Subject>
struct Named {
  std::string name;
  Subject subject;
};

// Returns the subjects of a suite. The suite is a class with a type Subject and
// a constructor from a Subject.
template <class Suite>
std::vector<Named<typename Suite::Subject>>& SubjectsOf() {
  static auto* const subjects =
      new std::vector<Named<typename Suite::Subject>>();
  return *subjects;
}

// Adds subjects to a suite before main() begins:
//   const tests::RunsOn<ByteSourceConformance> kLocal({{"local", &MakeLocal}});
template <class Suite>
class RunsOn {
 public:
  using Subject = typename Suite::Subject;

  RunsOn(std::initializer_list<Named<Subject>> subjects)
      : RunsOn(std::vector<Named<Subject>>(subjects)) {}
  explicit RunsOn(const std::vector<Named<Subject>>& subjects) {
    for (const Named<Subject>& each : subjects) Add(each);
  }

 private:
  // Subjects need different names: of two sections with one name, Catch2 would
  // enter only the first.
  static void Add(const Named<Subject>& added) {
    for (const Named<Subject>& each : SubjectsOf<Suite>()) {
      if (each.name != added.name) continue;
      std::fprintf(stderr, "two subjects of a suite are \"%s\"\n",
                   added.name.c_str());
      std::abort();
    }
    SubjectsOf<Suite>().push_back(added);
  }
};

// Returns the seeds from 0 to `count` - 1 as subjects.
template <class Seed = unsigned>
std::vector<Named<Seed>> Seeds(std::type_identity_t<Seed> count) {
  std::vector<Named<Seed>> seeds;
  for (Seed seed = 0; seed < count; ++seed)
    seeds.push_back({"seed " + std::to_string(seed), seed});
  return seeds;
}

}  // namespace forebay::tests

// Defines a test case of a suite, which runs on each of the suite's subjects in
// a section of its own. A suite without subjects fails. The body is a member
// function of a class that derives from the suite.
#define SUITE_CASE(Suite, ...)                                       \
  FOREBAY_SUITE_CASE(INTERNAL_CATCH_UNIQUE_NAME(CaseOfSuite), Suite, \
                     __VA_ARGS__)

#define FOREBAY_SUITE_CASE(Case, Suite, ...)                      \
  namespace {                                                     \
  class Case final : public Suite {                               \
   public:                                                        \
    using Suite::Suite;                                           \
    void Run();                                                   \
  };                                                              \
  }                                                               \
  TEST_CASE(__VA_ARGS__) {                                        \
    const auto& subjects = ::forebay::tests::SubjectsOf<Suite>(); \
    REQUIRE_FALSE(subjects.empty());                              \
    for (const auto& each : subjects) {                           \
      DYNAMIC_SECTION(each.name) { Case(each.subject).Run(); }    \
    }                                                             \
  }                                                               \
  void Case::Run()

#endif  // FOREBAY_TESTS_CATCH_SUITE_H_
