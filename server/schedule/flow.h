#ifndef FOREBAY_SERVER_SCHEDULE_FLOW_H_
#define FOREBAY_SERVER_SCHEDULE_FLOW_H_

#include <cstdint>

namespace forebay::schedule {

// Names what is charged for work: each job has one flow.
using Flow = std::uint64_t;

}  // namespace forebay::schedule

#endif  // FOREBAY_SERVER_SCHEDULE_FLOW_H_
