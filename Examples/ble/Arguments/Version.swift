/// The version of the package. Not in the file with the program's beginning, which a fuzzer leaves out.
enum Version {
    static let text = "0.1.0"
}
