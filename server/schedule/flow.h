#ifndef FOREBAY_SERVER_SCHEDULE_FLOW_H_
#define FOREBAY_SERVER_SCHEDULE_FLOW_H_

#include <cstdint>

namespace forebay::schedule {

// The number of an account to which work is charged. Each job has one flow.
using Flow = std::uint64_t;

// The flow of work that is charged to no job. No cap holds this work up.
inline constexpr Flow kNobody = 0;

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_FLOW_H_
