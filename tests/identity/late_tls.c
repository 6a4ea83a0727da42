// A library that is loaded late, with thread-local variables in the room that the loader keeps for such (initial-exec).
__attribute__((tls_model("initial-exec"))) __thread int late_begun = 42;
__attribute__((tls_model("initial-exec"))) __thread int late_zero;

int late_add(int n) {
  late_begun += n;
  late_zero += n;
  return late_begun * 1000 + late_zero;
}
