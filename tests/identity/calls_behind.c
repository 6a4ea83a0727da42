// The same tests in a program that knows nothing of Weft: a library that is linked with libweft.so makes them.
int calls_main(int argc, char** argv);

int main(int argc, char** argv) { return calls_main(argc, argv); }
