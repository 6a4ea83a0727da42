// A library that asks for stacks that code may run on, by how it is linked.
int asks_for_code(void) { return 1; }
