public import BLEProtocol
import BLERadio
import Synchronization

/// The central role on one adapter: finds peripherals and connects to them.
///
/// ```swift
/// let central = try await Central.open()
/// let sensor = try await central.scan(for: .service(.heartRate), .rssi(atLeast: -80)).timeout(.seconds(10)).first()
/// ```
///
/// While no stream of it is iterated and no link is in use, the adapter does nothing for it. On Linux, it has a thread
/// and a few descriptors until it is released, with the peripherals and links that came from it: a program that works
/// for long opens one, not one for each task.
public final class Central: Sendable {
    let core: CentralCore

    init(core: CentralCore) { self.core = core }

    /// Opens an adapter for the central role.
    ///
    /// - Parameters:
    ///   - choice: which adapter; by default the first one that is switched on.
    ///   - store: where bonds and other knowledge of peers are kept; `nil`: ``PeerStore/standard`` for an adapter of
    ///     this machine, memory for ``AdapterChoice/radio(_:)``.
    ///   - parameters: the parameters of its links unless a link, a session's plan or ``Peripheral/prefer(_:)``
    ///     specifies others; `nil`: the radio's default, ``ConnectionParameters/balanced`` on Linux.
    ///   - pairing: who answers when an operation requires a more secure link: the library then encrypts the link or
    ///     pairs, and repeats the operation; `nil`: such an operation fails. See ``PairingAnswers``.
    ///   - recovery: what to do about an adapter that doesn't work; by default its scan is restarted.
    /// - Throws: ``BLEError/Code/adapterNotFound``, ``BLEError/Code/unsupportedSystem`` or another `BLEError` that
    ///   states what is missing. An adapter that is switched off can be opened: watch ``adapterStates``, or open it
    ///   with ``open(_:store:parameters:pairing:recovery:waitingFor:)``.
    public static func open(
        _ choice: AdapterChoice = .default,
        store: PeerStore? = nil,
        parameters: ConnectionParameters? = nil,
        pairing: PairingAnswers? = nil,
        recovery: RecoveryPlan = RecoveryPlan()
    ) async throws -> Central {
        let store = store ?? (choice.isOfThisMachine ? .standard : .inMemory())
        let radio = try choice.makeRadio()
        return Central(
            core: CentralCore(
                radio: radio,
                store: store,
                parameters: parameters,
                pairing: pairing,
                recovery: recovery,
                events: choice.events
            )
        )
    }

    /// The adapter as it is now.
    public var adapter: AdapterInfo { core.radio.adapterInfo }

    /// The thread that reads this adapter's links, for tasks that do little but talk to peripherals.
    ///
    /// An answer reaches a task there without a change of thread, which is most of a read's cost on this side of the
    /// air: successive reads run at about 1.6 times the rate.
    ///
    /// ```swift
    /// try await withTaskExecutorPreference(central.executor) {
    ///     for handle in UInt16(0x20)...0x2F { print(try await link.read(.handle(handle))) }
    /// }
    /// ```
    ///
    /// Code that runs there delays all links of the adapter: it must not block or compute for long. Actors, including
    /// the main actor, keep their executors.
    ///
    /// - Returns: `nil` if the radio has no thread of its own, as in a simulation, or one for each adapter, as with
    ///   ``AdapterChoice/joined(_:)``; the task then runs as before.
    public var executor: (any TaskExecutor)? { core.radio.executor }

    /// The adapter's state: the present one, then each change. The stream never ends by itself.
    ///
    /// ```swift
    /// _ = try await central.adapterStates.first { $0 == .poweredOn }
    /// ```
    public var adapterStates: BLEStream<AdapterInfo.State> {
        let radio = core.radio
        let subject = StreamSubject(operation: "adapter states")
        return BLEStream(subject, timeline: radio.timeline, buffer: .standard) { mailbox in
            let last = Mutex<AdapterInfo.State?>(nil)
            let activity = radio.observeAdapter { info in
                let isNew = last.withLock { last in
                    defer { last = info.state }
                    return last != info.state
                }
                if isNew { mailbox.send(info.state) }
            }
            return { activity.cancel() }
        }
    }

    /// Scans for peripherals while the stream is iterated.
    ///
    /// Concurrent scans share one scan of the radio. A bonded peripheral that uses private addresses is reported under
    /// its identity address, whichever private address it has at the moment. Where fifty advertisements or more come
    /// each second, the radio reads them together, every 20 ms, which saves most of their cost.
    ///
    /// - Parameters:
    ///   - filters: what to find; none: everything. See ``ScanFilter`` for how they combine.
    ///   - duplicates: which advertisements of a peripheral are elements: the first one in each iteration; with
    ///     ``Duplicates/changes`` each that differs from the one before; with `true` all of them.
    ///   - mode: whether the scan requests scan responses.
    ///   - buffer: what happens when advertisements arrive faster than they are consumed; by default the newest 4096
    ///     are kept.
    /// - Returns: a stream that never ends by itself. Advertisements that the kernel dropped count as dropped, see
    ///   ``BLEStream/counters``, whether or not the filters would have matched them.
    /// - Throws (in the loop): ``BLEError/Code/permissionDenied`` with the command that grants the permission,
    ///   ``BLEError/Code/adapterPoweredOff``, or another `BLEError` of the adapter.
    public func scan(
        for filters: ScanFilter...,
        duplicates: Central.Duplicates = .ignored,
        mode: Central.ScanMode = .active,
        buffer: BufferPolicy = .newest(4096)
    ) -> BLEStream<Discovery> {
        scan(for: filters, duplicates: duplicates, mode: mode, buffer: buffer)
    }

    /// As ``scan(for:duplicates:mode:buffer:)-(ScanFilter...,_,_,_)``, with the filters in an array.
    public func scan(
        for filters: [ScanFilter],
        duplicates: Central.Duplicates = .ignored,
        mode: Central.ScanMode = .active,
        buffer: BufferPolicy = .newest(4096)
    ) -> BLEStream<Discovery> {
        let core = core
        // Services are not handed to the radio: kernels look for them in service lists only, not in service data.
        let options = ScanBroker.Options(
            services: [],
            isActive: mode == .active,
            reportsDuplicates: duplicates != .ignored
        )
        let subject = StreamSubject(operation: StreamSubject.scan, object: filters.inWords)
        return BLEStream(subject, timeline: core.radio.timeline, buffer: buffer) { mailbox in
            let reported = Mutex(ReportedAdvertisements(duplicates))
            let take: @Sendable ([AdvertisingReport]) -> Void = { reports in
                let wanted =
                    duplicates == .all ? reports : reported.withLock { table in reports.filter { table.take($0) } }
                guard !wanted.isEmpty else { return }
                let found = wanted.map { report in
                    Discovery(peripheral: Peripheral(core: core, address: report.address), report: report)
                }
                mailbox.send(contentsOf: found)
            }
            let isOver = Ending<Void>()
            core.renewIdentities {
                guard !isOver.hasEnded else { return }
                let end = core.scans.add(
                    options,
                    for: ScanCriteria(filters, identity: core.identities.identity(of:)),
                    take: take,
                    lost: { mailbox.lost($0) },
                    fail: { mailbox.finish(throwing: $0) }
                )
                isOver.whenEnded { _ in end() }
            }
            return { isOver.end() }
        }
    }

    /// The peripheral with an address; nothing is sent until it is used.
    public func peripheral(_ address: BluetoothAddress) -> Peripheral { Peripheral(core: core, address: address) }

    /// The peripheral with an address as text: `C4:F2:17:1A:1D:BB`, followed by `/public` or `/random` if known.
    ///
    /// Without the suffix, the library determines the kind when it connects, from the peripheral's advertisements. If
    /// the program may not scan, or receives none, it tries both kinds in turns of some seconds, the likelier first.
    ///
    /// - Throws: ``BLEError/Code/invalidArgument`` if the text is not an address.
    public func peripheral(_ text: String) throws -> Peripheral {
        let candidates = BluetoothAddress.candidates(for: text)
        guard let address = candidates.first else {
            throw BLEError(
                .invalidArgument,
                operation: "address",
                object: "'\(text)'",
                cause: "it is not six octets in hexadecimal with colons between them",
                remedy: "Write it like C4:F2:17:1A:1D:BB, followed by /public or /random if you know the kind."
            )
        }
        return Peripheral(core: core, address: address, alternatives: Array(candidates.dropFirst()))
    }
}

extension Central {
    /// The adapters of this machine, whether they can be used or not.
    ///
    /// - Throws: ``BLEError/Code/unsupportedSystem`` without Bluetooth in the kernel,
    ///   ``BLEError/Code/permissionDenied`` if the system doesn't let this program open a Bluetooth socket.
    public static func adapters() throws -> [AdapterInfo] { try MachineRadio.adapters() }
}

extension Central {
    /// Whether a scan requests scan responses.
    public enum ScanMode: Hashable, Sendable {
        /// Requests each peripheral's scan response.
        case active
        /// Only listens: it transmits nothing.
        case passive
    }
}
