internal import CBluetooth
internal import Glibc

/// Starts a detached thread; signals of the process go to its other threads.
func startThread(
    named name: String,
    on kernel: Kernel = .ofThisMachine,
    _ body: @escaping @Sendable () -> Void
) throws(SystemError) {
    if let substitute = kernel.substitute {
        let error = -substitute.startThread(named: name, body)
        if error != 0 { throw SystemError(rawValue: error) }
        return
    }

    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    defer { pthread_attr_destroy(&attributes) }

    // A new thread inherits the mask: all signals are blocked while it is created.
    var all = sigset_t()
    var before = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

    let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
    var thread = pthread_t()
    let error = pthread_create(
        &thread,
        &attributes,
        { argument in
            guard let argument else { return nil }
            let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
            CBluetooth_name_thread(String(start.name.prefix(15)))
            start.body()
            return nil
        },
        start.toOpaque()
    )
    if error != 0 {
        start.release()
        throw SystemError(rawValue: error)
    }
}

/// The closure that a thread runs.
private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}
