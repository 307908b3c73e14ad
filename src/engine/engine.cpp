#include "engine/engine.h"

#include "engine/local_engine.h"
#include "engine/memory_need.h"

namespace continuo::engine {

Result<std::unique_ptr<Engine>> Engine::create(std::unique_ptr<weights::TensorSource> source, const EngineOptions& options) {
  CONTINUO_TRY(const compute::KvType kv_type, parse_kv_type(options.kv));
  if (options.max_rows < 2) return fail(ErrorCode::invalid_argument, "a step needs room for at least 2 rows");
  CONTINUO_TRY(auto executor, compute::make_cpu_executor({options.threads, options.isa}));
  auto engine = std::make_unique<LocalEngine>(std::move(source), std::move(executor), kv_type, options);
  CONTINUO_CHECK(engine->load());
  return engine;
}

}  // namespace continuo::engine
