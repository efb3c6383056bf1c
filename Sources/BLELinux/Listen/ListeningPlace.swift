internal import BLEProtocol

/// Whether the adapter's centrals still come to this program.
///
/// Of several programs that listen on an adapter the kernel gives a link to the one that began last, and tells the others
/// nothing: a bluetoothd that is started takes the place of a program that listened before, for its own server. So the
/// program begins anew where there is a sign of one, and at the latest when a central has come that nobody has offered it.
///
/// - A bluetoothd that starts removes advertisements and switches settings; the kernel tells of that when it listens
///   already. It tells of nothing where it finds nothing to change.
/// - The kernel tells of a central's link to all programs, shortly before or after one of them is offered it.
struct ListeningPlace {
    /// What the driver is to do.
    struct Output: Equatable {
        struct Timer: Equatable {
            var id: Int
            var delay: Duration
        }

        /// Listens anew, so as to be the last again.
        var renews = false
        var timer: Timer?
        /// Tells of a central that another program got.
        var lost: BluetoothAddress?
    }

    /// How long a link may take from the kernel's word of it to the program; an emulated machine needs a tenth of it.
    static let patience = Duration.seconds(1)

    /// Centrals of which the kernel has told and that have not been offered, by the timers that wait for them.
    private var awaited: [Int: BluetoothAddress] = [:]
    /// Centrals that were offered and of which the kernel has not told.
    private var early: Set<BluetoothAddress> = []
    private var nextID = 0

    /// Another program has changed something of the adapter.
    mutating func othersActed() -> Output { Output(renews: true) }

    /// The kernel tells of a central's link.
    mutating func centralCame(_ central: BluetoothAddress) -> Output {
        guard early.remove(central) == nil else { return Output() }
        nextID &+= 1
        awaited[nextID] = central
        return Output(timer: Output.Timer(id: nextID, delay: Self.patience))
    }

    /// Its link has ended.
    mutating func centralLeft(_ central: BluetoothAddress) {
        early.remove(central)
        awaited = awaited.filter { $0.value != central }
    }

    /// The program has been offered a central's link.
    mutating func accepted(_ central: BluetoothAddress) {
        if let known = awaited.first(where: { $0.value == central }) {
            awaited[known.key] = nil
        } else {
            early.insert(central)
        }
    }

    mutating func timerFired(_ id: Int) -> Output {
        guard let central = awaited.removeValue(forKey: id) else { return Output() }
        return Output(renews: true, lost: central)
    }

    /// Events of the kernel were lost: what was to come may have come.
    mutating func missedEvents() -> Output {
        (awaited, early) = ([:], [])
        return Output(renews: true)
    }
}
