import BLEProtocol
import Dispatch

@testable import BLELinux

/// All that a fake kernel knows; a value under one lock.
struct FakeState {
    var objects: [Int32: FakeObject] = [:]
    /// Far from what the machine's own kernel gives.
    var nextDescriptor: Int32 = 1 << 20
    var adapters: [UInt16: FakeAdapter] = [:]
    /// Devices without a radio of this kernel.
    var peers: [BluetoothAddress: FakePeer] = [:]
    var files: [String: [UInt8]] = [:]
    var links: [String: String] = [:]
    /// Whether the kernel holds the link of a socket that was closed.
    var holdsLinks = false
    /// Whether the controller ends no link when it is asked to.
    var refusesDisconnecting = false
    /// Whether the controller connects just when an attempt is cancelled, and the kernel forgets that link.
    var forgetsLinks = false
    /// Whether the kernel keeps each attempt that is given up, tells nothing of it, and makes no connection any more
    /// once it has heard the peer again; Linux 6.12 does so at an unlucky moment.
    var keepsGivenUpAttempts = false
    /// Whether the kernel tells that an attempt was given up; Linux 6.1 doesn't.
    var tellsVainAttempts = true
    /// Whether the kernel tells who has made a link; Linux before 5.14 doesn't.
    var tellsWhoConnects = true
    /// Names of local sockets.
    var names: [[UInt8]: Int32] = [:]
    var release = "6.12.1"
    /// The minor version of the management interface.
    var revision: UInt8 = 23
    /// Whether the program has `CAP_NET_ADMIN`, and `CAP_NET_RAW`.
    var isAdministrator = true
    var isRaw = true

    // Faults.
    var calls: [SystemCall: Int] = [:]
    var fault: SystemFault?
    var isReached = false
    var isCutShort = false
    var isLate = false
    /// What happens after so many more calls, outside the lock.
    var moments: [(calls: Int, body: @Sendable () -> Void)] = []
    /// Called once, outside the lock, right after somebody has looked what a descriptor is ready for.
    var afterLook: (@Sendable () -> Void)?
    /// Called once, outside the lock, right before the controller gets a command with this opcode.
    var beforeCommand: (opcode: UInt16, body: @Sendable () -> Void)?
    /// Datagrams that are late.
    var held: [(descriptor: Int32, octets: [UInt8])] = []

    // Threads.
    var threads = 0
    /// The names of those that don't return from the kernel, with what they do once they have.
    var stuckThreads: [String: [@Sendable () -> Void]] = [:]
    /// Those that wait, by the sets that they wait at.
    var waiting: [Int32: DispatchSemaphore] = [:]
    var idle: [CheckedContinuation<Void, Never>] = []
    /// How often a thread was told that something is ready since all were idle.
    var turns = 0
    /// A thread is told the same for ever: it does nothing about it.
    var isSpinning = false
    var nextHandle: UInt16 = 64
    var serial = 0

    /// Counts a call; what it fails with, negated, where it does.
    mutating func enter(_ call: SystemCall) -> Int32? {
        calls[call, default: 0] += 1
        for index in moments.indices { moments[index].calls -= 1 }
        guard let fault, fault.call == call, let number = calls[call], number >= fault.number else { return nil }
        switch fault.effect {
        case .fails(let error) where number == fault.number:
            isReached = true
            return -error
        case .keepsFailing(let error):
            isReached = true
            return -error
        case .isCutShort:
            (isReached, isCutShort) = (true, true)
        case .isLate:
            (isReached, isLate) = (true, true)
        case .fails: break
        }
        return nil
    }

    mutating func add(_ kind: FakeObject.Kind) -> Int32 {
        defer { nextDescriptor += 1 }
        serial += 1
        objects[nextDescriptor] = FakeObject(kind: kind, serial: serial)
        return nextDescriptor
    }

    /// Hands a datagram to a socket.
    mutating func deliver(_ octets: [UInt8], to descriptor: Int32) {
        guard objects[descriptor] != nil else { return }
        if isLate { held.append((descriptor, octets)) } else { put(octets, descriptor) }
    }

    private mutating func put(_ octets: [UInt8], _ descriptor: Int32) {
        let dropped = objects[descriptor]?.dropped
        objects[descriptor]?.inbox.append(ReceivedDatagram(octets: octets, dropped: dropped))
    }

    /// Hands out what is late; `false` where nothing is.
    mutating func release(_ all: Bool = true) -> Bool {
        let due = held
        held = []
        for datagram in due { put(datagram.octets, datagram.descriptor) }
        return !due.isEmpty
    }
}

/// What a descriptor stands for.
struct FakeObject {
    enum Kind {
        case readinessSet([Int32: (interest: Readiness, token: UInt64)])
        case counter(Int)
        case file(position: Int, octets: [UInt8])
        case name([UInt8])
        case hci(HCISocket)
        case l2cap(L2CAPSocket)
    }

    struct HCISocket {
        var channel: HCIChannel?
        var hearsScans = false
        var hearsLinks = false
    }

    struct L2CAPSocket {
        enum Phase {
            case fresh
            case listening([Int32])
            case connecting(BluetoothAddress)
            case connected(FakeLink)
            case dead
        }

        var phase = Phase.fresh
        var adapter: BluetoothAddress?
        var level: UInt8 = 1
        /// It is neither writable nor connected for as long as the kernel encrypts.
        var isSecuring = false
        /// Its program is gone, and the kernel still holds the link.
        var isLeft = false
    }

    var kind: Kind
    /// When it was made, as a number.
    var serial: Int
    var inbox: [ReceivedDatagram] = []
    var dropped: UInt32?
    /// Told once.
    var error: Int32 = 0
    /// The connection is over.
    var isHungUp = false

    var l2cap: L2CAPSocket? {
        get { if case .l2cap(let socket) = kind { socket } else { nil } }
        set { if let newValue { kind = .l2cap(newValue) } }
    }

    var hci: HCISocket? {
        get { if case .hci(let socket) = kind { socket } else { nil } }
        set { if let newValue { kind = .hci(newValue) } }
    }
}

/// One end of a link.
struct FakeLink {
    var adapter: UInt16
    var peer: BluetoothAddress
    var handle: UInt16
    var isCentral: Bool
    /// The socket at the other end, where that is an adapter of this kernel.
    var far: Int32?
    /// The identity that the peer has told: the kernel names the connection by it, the socket still by the address.
    var identity: BluetoothAddress?

    /// The peer as the kernel names it.
    var name: BluetoothAddress { identity ?? peer }
}

/// A controller, and what the kernel has for it.
struct FakeAdapter {
    struct Instance {
        var flags: UInt32
        var data: [UInt8]
        var isOnAir = true
    }

    var number: UInt16
    var address: BluetoothAddress
    var settings: ManagementSettings = [.powered, .lowEnergy, .bondable, .secureConnections, .connectable]
    var features: [UInt8] = [0, 0, 0, 0, 0x60, 0, 0, 0]
    /// Bits of the kernel's device list beside that of power.
    var otherFlags: UInt32 = 0
    /// The pairing capabilities that it was given, in order.
    var capabilities: [UInt8] = []
    /// How many lists of encryption keys it was given.
    var keyLists = 0
    /// The links of the controller's that the kernel has forgotten, by their handles.
    var forgotten: [UInt16: BluetoothAddress] = [:]
    /// The attempts that were given up and that the kernel keeps: whether it has heard the peer since.
    var keptAttempts: [BluetoothAddress: Bool] = [:]
    /// The links of Bluetooth Classic, by their handles, of which no socket here has one.
    var classicLinks: [UInt16: ManagementAddress] = [:]
    var isDiscovering = false
    /// What it listens for then; who ends it must name that.
    var discoveryType: UInt8 = 6
    var isScanningByHCI = false
    /// Who was reported since that scan began, if the controller filters duplicates; `nil`: it reports all.
    var reportedByHCI: Set<BluetoothAddress>?
    var instances: [UInt8: Instance] = [:]
    var monitors: Set<UInt16> = []
    /// Whether the controller looks at the patterns of monitors itself.
    var matchesPatterns = false
    var maximumInstances: UInt8 = 5
    /// How many octets an advertisement may have.
    var advertisingRoom: UInt8 = 31
    /// The removals of advertisements that wait for the kernel's thread; `nil`: each is carried out at once.
    var removals: [FakeState.Call]?
    var selectedPHYs: UInt32 = 0x7E00
    var takesExtendedScans = true
    /// What commands are answered in place of what they would be, each once.
    var answers: [UInt16: ManagementStatus] = [:]
    /// Whether the kernel fails to switch it on, each time.
    var failsToSwitchOn = false
    /// What it answers each time that it is to switch it off.
    var refusesToSwitchOff: ManagementStatus?
    /// Commands that are never answered: the kernel's by a program, or the controller's.
    var silent: Set<UInt16> = []
    var combinesRoles = true
    /// Whether another program has it for itself, through the user channel.
    var isTaken = false
    /// A pairing that is under way: who waits for it.
    var pairing: (socket: Int32, peer: ManagementAddress)?
    /// The peers whose pairings are under way, whoever has begun them.
    var pairingPeers: Set<ManagementAddress> = []
    /// Whether another program's pairing with another peer, which began before, is under way.
    var hasOlderPairing = false

    var isUp: Bool { settings.contains(.powered) }
    var flags: UInt32 { (isUp ? 0b101 : 0) | otherFlags }

    /// A pairing is over, in whatever way; who waits for it has no answer yet.
    mutating func endPairing(with peer: ManagementAddress) {
        if pairing?.peer == peer { pairing = nil }
        pairingPeers.remove(peer)
    }
}

/// A device that is no adapter of this kernel.
struct FakePeer {
    /// What comes of a pairing.
    enum Pairing {
        case justWorks
        case comparison(UInt32)
        case passkey
        case refuses
        /// It goes on, and nothing is told of it.
        case goesOn
    }

    var address: BluetoothAddress
    var data: [UInt8] = [2, 1, 6]
    /// Whether it advertises, and so can be heard and connected to.
    var isHere = true
    var pairing = Pairing.justWorks
    /// What it was sent.
    var received: [[UInt8]] = []
    /// Whether it sends back what it is sent.
    var echoes = true
    /// Whether the kernel has its keys.
    var isBonded = false
}
