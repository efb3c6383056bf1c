internal import Glibc

/// The functions of libdbus, loaded at run time.
///
/// The library is installed wherever bluetoothd runs, since bluetoothd needs it; other machines need neither, so
/// nothing is linked. The binary interface of `libdbus-1.so.3` has been stable since version 1.0. Source: D-Bus
/// low-level API, `dbus/dbus-connection.h`, `dbus-message.h`.
struct LibDBus: Sendable {
    /// A `DBusConnection *`, `DBusMessage *` or `DBusWatch *`.
    typealias Object = OpaquePointer
    typealias Text = UnsafePointer<CChar>
    /// A `dbus_bool_t`.
    typealias Truth = UInt32

    /// Opening, sending and receiving.
    struct Connections: Sendable {
        let open: @Sendable @convention(c) (Text, UnsafeMutableRawPointer) -> Object?
        let close: @Sendable @convention(c) (Object) -> Void
        let release: @Sendable @convention(c) (Object) -> Void
        let setExitOnDisconnect: @Sendable @convention(c) (Object, Truth) -> Void
        let getDescriptor: @Sendable @convention(c) (Object, UnsafeMutablePointer<Int32>) -> Truth
        let setWatchFunctions:
            @Sendable @convention(c) (
                Object, AddWatch, RemoveWatch, ToggleWatch, UnsafeMutableRawPointer, OpaquePointer?
            ) -> Truth
        let send: @Sendable @convention(c) (Object, Object, UnsafeMutablePointer<UInt32>) -> Truth
        let pop: @Sendable @convention(c) (Object) -> Object?

        typealias AddWatch = @Sendable @convention(c) (Object?, UnsafeMutableRawPointer?) -> Truth
        typealias RemoveWatch = @Sendable @convention(c) (Object?, UnsafeMutableRawPointer?) -> Void
        typealias ToggleWatch = @Sendable @convention(c) (Object?, UnsafeMutableRawPointer?) -> Void
    }

    /// What a connection waits for.
    struct Watches: Sendable {
        let flags: @Sendable @convention(c) (Object) -> UInt32
        let isEnabled: @Sendable @convention(c) (Object) -> Truth
        let handle: @Sendable @convention(c) (Object, UInt32) -> Truth
    }

    /// Errors, which the library fills in: see ``withError(_:)``.
    struct Errors: Sendable {
        let initialize: @Sendable @convention(c) (UnsafeMutableRawPointer) -> Void
        let free: @Sendable @convention(c) (UnsafeMutableRawPointer) -> Void
    }

    let connections: Connections
    let watches: Watches
    let errors: Errors
    let messages: LibDBusMessages

    /// The library; `nil` if it isn't installed or lacks a function. The first use reads files.
    static let shared = LibDBus(named: "libdbus-1.so.3")

    /// The corresponding C functions are `dlopen` and `dlsym`. The library is never unloaded.
    init?(named name: String) {
        guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else { return nil }
        let symbols = Symbols(library: library)
        do throws(Symbols.Missing) {
            let initializeThreads = try symbols["dbus_threads_init_default", ThreadsFunction.self]
            connections = try Connections(symbols)
            watches = try Watches(symbols)
            errors = try Errors(symbols)
            messages = try LibDBusMessages(symbols)
            guard initializeThreads() != 0 else { return nil }
        } catch {
            return nil
        }
    }

    private typealias ThreadsFunction = @Sendable @convention(c) () -> Truth

    /// Calls a function that may fill in a `DBusError`, and returns the error's name and text if it did.
    func withError<Value>(_ call: (UnsafeMutableRawPointer) -> Value?) -> Result<Value, BusFailure> {
        // Two pointers, five bits, one pointer: 32 octets; twice that is reserved.
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 16) { buffer in
            guard let error = buffer.baseAddress else { return .failure(.unreachable("no memory")) }
            errors.initialize(error)
            defer { errors.free(error) }
            if let value = call(error) { return .success(value) }
            let texts = error.assumingMemoryBound(to: Text?.self)
            return .failure(.unreachable(texts[1].map { String(cString: $0) } ?? "no reason given"))
        }
    }

    /// The functions of an open library, by name.
    struct Symbols {
        struct Missing: Error {}

        let library: UnsafeMutableRawPointer

        /// - Parameter type: a C function type, which must be the function's own.
        subscript<Function>(name: String, type: Function.Type) -> Function {
            get throws(Missing) {
                guard let symbol = dlsym(library, name) else { throw Missing() }
                return unsafeBitCast(symbol, to: type)
            }
        }

        /// Finds a function whose type follows from what it is assigned to.
        func find<Function>(_ name: String) throws(Missing) -> Function { try self[name, Function.self] }
    }
}

extension LibDBus.Connections {
    fileprivate init(_ symbols: LibDBus.Symbols) throws(LibDBus.Symbols.Missing) {
        open = try symbols.find("dbus_connection_open_private")
        close = try symbols.find("dbus_connection_close")
        release = try symbols.find("dbus_connection_unref")
        setExitOnDisconnect = try symbols.find("dbus_connection_set_exit_on_disconnect")
        getDescriptor = try symbols.find("dbus_connection_get_unix_fd")
        setWatchFunctions = try symbols.find("dbus_connection_set_watch_functions")
        send = try symbols.find("dbus_connection_send")
        pop = try symbols.find("dbus_connection_pop_message")
    }
}

extension LibDBus.Watches {
    fileprivate init(_ symbols: LibDBus.Symbols) throws(LibDBus.Symbols.Missing) {
        flags = try symbols.find("dbus_watch_get_flags")
        isEnabled = try symbols.find("dbus_watch_get_enabled")
        handle = try symbols.find("dbus_watch_handle")
    }
}

extension LibDBus.Errors {
    fileprivate init(_ symbols: LibDBus.Symbols) throws(LibDBus.Symbols.Missing) {
        initialize = try symbols.find("dbus_error_init")
        free = try symbols.find("dbus_error_free")
    }
}
