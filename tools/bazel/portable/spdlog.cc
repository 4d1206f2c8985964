// The code of libspdlog's archive, compiled from its headers as in libspdlog's
// own src/*.cpp.

#include "spdlog/spdlog.h"

#include "spdlog/async.h"
#include "spdlog/async_logger-inl.h"
#include "spdlog/common-inl.h"
#include "spdlog/details/backtracer-inl.h"
#include "spdlog/details/log_msg-inl.h"
#include "spdlog/details/log_msg_buffer-inl.h"
#include "spdlog/details/null_mutex.h"
#include "spdlog/details/os-inl.h"
#include "spdlog/details/periodic_worker-inl.h"
#include "spdlog/details/registry-inl.h"
#include "spdlog/details/thread_pool-inl.h"
#include "spdlog/logger-inl.h"
#include "spdlog/pattern_formatter-inl.h"
#include "spdlog/sinks/ansicolor_sink-inl.h"
#include "spdlog/sinks/base_sink-inl.h"
#include "spdlog/sinks/sink-inl.h"
#include "spdlog/sinks/stdout_color_sinks-inl.h"
#include "spdlog/sinks/stdout_sinks-inl.h"
#include "spdlog/spdlog-inl.h"

using spdlog::details::console_mutex;
using spdlog::details::console_nullmutex;
using spdlog::details::null_mutex;

template class SPDLOG_API spdlog::sinks::base_sink<console_mutex::mutex_t>;
template class SPDLOG_API spdlog::sinks::base_sink<null_mutex>;
template class SPDLOG_API spdlog::sinks::stdout_sink_base<console_mutex>;
template class SPDLOG_API spdlog::sinks::stdout_sink_base<console_nullmutex>;
template class SPDLOG_API spdlog::sinks::stdout_sink<console_mutex>;
template class SPDLOG_API spdlog::sinks::stdout_sink<console_nullmutex>;
template class SPDLOG_API spdlog::sinks::stderr_sink<console_mutex>;
template class SPDLOG_API spdlog::sinks::stderr_sink<console_nullmutex>;
template class SPDLOG_API spdlog::sinks::ansicolor_sink<console_mutex>;
template class SPDLOG_API spdlog::sinks::ansicolor_sink<console_nullmutex>;
