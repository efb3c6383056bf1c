internal import BLEProtocol

/// Decides whether the adapter's centrals still reach this program.
///
/// Of several programs that listen on an adapter, the kernel gives a link to the one that began last, and tells the
/// others nothing: a bluetoothd that starts takes the place of a program that listened before, for its own server. So
/// the program begins again if there is a sign of one, and at the latest when a central has connected that was not
/// offered to it.
///
/// - A bluetoothd that starts removes advertisements and changes settings; when the kernel reports that, bluetoothd
///   already listens. If it finds nothing to change, there is no report.
/// - The kernel reports a central's link to all programs, shortly before or after it is offered to one of them.
struct ListeningPlace {
    /// What the driver is to do.
    struct Output: Equatable {
        struct Timer: Equatable {
            var id: Int
            var delay: Duration
        }

        /// Listens again, so as to be the last one.
        var renews = false
        var timer: Timer?
        /// Reports a central that another program got.
        var lost: BluetoothAddress?
    }

    /// How long a link may take from the kernel's report to the program; an emulated machine needs a tenth of it.
    static let patience = Duration.seconds(1)

    /// The maximum number of centrals whose report is awaited, more than a controller has links. Without the permission
    /// for the kernel's events no report ever comes, and centrals come under ever new private addresses.
    static let mostEarly = 64

    /// Centrals that the kernel has reported and that were not offered yet, by the timers that wait for them.
    private var awaited: [Int: BluetoothAddress] = [:]
    /// Centrals that were offered and that the kernel has not reported yet, the oldest first.
    private var early: [BluetoothAddress] = []
    private var nextID = 0

    /// Another program has changed something of the adapter.
    mutating func othersActed() -> Output { Output(renews: true) }

    /// The kernel reports a central's link.
    mutating func centralCame(_ central: BluetoothAddress) -> Output {
        guard !forgetEarly(central) else { return Output() }
        nextID &+= 1
        awaited[nextID] = central
        return Output(timer: Output.Timer(id: nextID, delay: Self.patience))
    }

    /// Its link has ended.
    mutating func centralLeft(_ central: BluetoothAddress) {
        _ = forgetEarly(central)
        awaited = awaited.filter { $0.value != central }
    }

    /// The program has been offered a central's link.
    mutating func accepted(_ central: BluetoothAddress) {
        if let known = awaited.first(where: { $0.value == central }) {
            awaited[known.key] = nil
        } else {
            _ = forgetEarly(central)
            if early.count == Self.mostEarly { early.removeFirst() }
            early.append(central)
        }
    }

    /// Returns whether it was one of them.
    private mutating func forgetEarly(_ central: BluetoothAddress) -> Bool {
        guard let index = early.firstIndex(of: central) else { return false }
        early.remove(at: index)
        return true
    }

    /// - Parameter isInterrupted: whether links that are offered can't be accepted for now: then the central's may be
    ///   one of those, and is waited for.
    mutating func timerFired(_ id: Int, whileInterrupted isInterrupted: Bool = false) -> Output {
        if isInterrupted, awaited[id] != nil { return Output(timer: Output.Timer(id: id, delay: Self.patience)) }
        guard let central = awaited.removeValue(forKey: id) else { return Output() }
        return Output(renews: true, lost: central)
    }

    /// Events of the kernel were lost: the awaited ones may have been among them.
    mutating func missedEvents() -> Output {
        (awaited, early) = ([:], [])
        return Output(renews: true)
    }
}
