#include "engine/engine.h"

#include "engine/local_engine.h"

namespace continuo::engine {

Result<std::unique_ptr<Engine>> Engine::create(std::unique_ptr<weights::TensorSource> source, const EngineOptions& options) {
  compute::KvType kv_type;
  if (options.kv == "f32") {
    kv_type = compute::KvType::f32;
  } else if (options.kv == "f16") {
    kv_type = compute::KvType::f16;
  } else if (options.kv == "int8") {
    kv_type = compute::KvType::int8;
  } else {
    return fail(ErrorCode::invalid_argument, "unknown type '{}' for keys and values; choose int8, f16 or f32", options.kv);
  }
  if (options.max_rows < 2) return fail(ErrorCode::invalid_argument, "a step needs room for at least 2 rows");
  CONTINUO_TRY(auto executor, compute::make_cpu_executor({options.threads, options.isa}));
  auto engine = std::make_unique<LocalEngine>(std::move(source), std::move(executor), kv_type, options);
  CONTINUO_CHECK(engine->load());
  return engine;
}

}  // namespace continuo::engine
