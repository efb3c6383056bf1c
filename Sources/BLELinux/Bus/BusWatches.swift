internal import Synchronization

/// The watches of libdbus on its socket, which it adds and removes by itself.
final class BusWatches: Sendable {
    /// Pointers as numbers, which may cross threads; they are used on the loop's thread only.
    private let list = Mutex<[UInt]>([])
    private let library: LibDBus

    init(_ library: LibDBus) { self.library = library }

    /// Makes a connection keep its watches here, as long as this object lives.
    func attach(to connection: OpaquePointer) -> Bool {
        let add: LibDBus.Connections.AddWatch = { watch, list in
            BusWatches.of(list)?.change(watch) { $0.append($1) }
            return 1
        }
        let remove: LibDBus.Connections.RemoveWatch = { watch, list in
            BusWatches.of(list)?.change(watch) { list, gone in list.removeAll { $0 == gone } }
        }
        let toggle: LibDBus.Connections.ToggleWatch = { _, _ in }
        let object = Unmanaged.passUnretained(self).toOpaque()
        return library.connections.setWatchFunctions(connection, add, remove, toggle, object, nil) != 0
    }

    private static func of(_ object: UnsafeMutableRawPointer?) -> BusWatches? {
        object.map { Unmanaged<BusWatches>.fromOpaque($0).takeUnretainedValue() }
    }

    private func change(_ watch: OpaquePointer?, _ body: (inout [UInt], UInt) -> Void) {
        let number = UInt(bitPattern: watch)
        if number != 0 { list.withLock { body(&$0, number) } }
    }

    /// What the connection waits for now; empty if it is gone.
    var interest: Readiness {
        var interest: Readiness = []
        for number in list.withLock({ $0 }) {
            guard let watch = OpaquePointer(bitPattern: number), library.watches.isEnabled(watch) != 0 else { continue }
            let flags = library.watches.flags(watch)
            if flags & Self.readable != 0 { interest.insert(.readable) }
            if flags & Self.writable != 0 { interest.insert(.writable) }
        }
        return interest
    }

    /// Makes the library read and write what it can.
    func handle(_ readiness: Readiness) {
        var happened: UInt32 = 0
        if readiness.contains(.readable) { happened |= Self.readable }
        if readiness.contains(.writable) { happened |= Self.writable }
        if readiness.contains(.error) { happened |= Self.error }
        if readiness.contains(.hangUp) { happened |= Self.hangUp }
        for number in list.withLock({ $0 }) {
            // An earlier watch may have removed it.
            guard list.withLock({ $0.contains(number) }), let watch = OpaquePointer(bitPattern: number),
                library.watches.isEnabled(watch) != 0
            else { continue }
            let flags = happened & (library.watches.flags(watch) | Self.error | Self.hangUp)
            if flags != 0 { _ = library.watches.handle(watch, flags) }
        }
    }

    // `DBusWatchFlags`.
    private static let readable: UInt32 = 1
    private static let writable: UInt32 = 2
    private static let error: UInt32 = 4
    private static let hangUp: UInt32 = 8
}
