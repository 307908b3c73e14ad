#include "compute/cpu/isa.h"

#include <cstdlib>

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>  // brings HWCAP_ASIMDDP, too
#endif

namespace continuo::compute::cpu {

Result<const Kernels*> choose_kernels(const std::string& name) {
  std::string wanted = name;
  if (wanted.empty()) {
    const char* forced = std::getenv("CONTINUO_ISA");
    if (forced != nullptr) wanted = forced;
  }
  if (wanted == "portable") return &portable_kernels();
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vnni");
  const bool avxvnni = avx2 && __builtin_cpu_supports("avxvnni");
  if (wanted.empty() && avx512) return &avx512_kernels();
  if (wanted.empty()) return avxvnni ? &avxvnni_kernels() : avx2 ? &avx2_kernels() : &portable_kernels();
  if (wanted == "avx512vnni" && avx512) return &avx512_kernels();
  if (wanted == "avxvnni" && (avxvnni || avx512)) return avxvnni ? &avxvnni_kernels() : &avxvnni_evex_kernels();
  if (wanted == "avx2" && avx2) return &avx2_kernels();
#elif defined(__aarch64__) && defined(__linux__)
  const bool neon = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  if (wanted.empty()) return neon ? &neon_kernels() : &portable_kernels();
  if (wanted == "neon" && neon) return &neon_kernels();
#else
  if (wanted.empty()) return &portable_kernels();
#endif
  if (wanted == "avx2" || wanted == "avxvnni" || wanted == "avx512vnni" || wanted == "neon") {
    return fail(ErrorCode::unsupported,
                "this machine cannot run the instruction set '{}'; leave CONTINUO_ISA unset to take the best it has", wanted);
  }
  return fail(ErrorCode::invalid_argument,
              "unknown instruction set '{}'; the choices are portable, avx2, avxvnni, avx512vnni, neon", wanted);
}

}  // namespace continuo::compute::cpu
