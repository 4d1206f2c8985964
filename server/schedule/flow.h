#ifndef FOREBAY_SERVER_SCHEDULE_FLOW_H_
#define FOREBAY_SERVER_SCHEDULE_FLOW_H_

#include <cstdint>

namespace forebay::schedule {

// Names what is charged for work: each job has one flow.
using Flow = std::uint64_t;

// The flow of work that is charged to no job: no cap holds it up.
inline constexpr Flow kNobody = 0;

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_FLOW_H_
