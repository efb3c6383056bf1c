import Glibc

/// What the tests' process does where the reader of a pipe or a socket has left: as in `ble`, whoever writes gets an
/// error. The signal would end all tests.
enum BrokenPipes {
    /// To be looked at before anything of `ble` runs in this process. Children begin with the usual signals all the
    /// same.
    static let areErrors: Void = { _ = signal(SIGPIPE, SIG_IGN) }()
}
