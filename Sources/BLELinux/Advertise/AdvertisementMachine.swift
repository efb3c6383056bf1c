internal import BLEProtocol
internal import BLERadio

/// Keeps an advertising instance on air while others come and go beside it.
///
/// ```
///            begin              sizes             a number           answer
///   (idle) ─────────► choosing ───────► claiming ──────────► adding ─────────► on air ─ a central came ─► renewing
///                       ▲  ▲                                   │ a passing      │    ◄─────── answer ──────┘ │
///                       │  │ timer                             ▼ failure        │                            │
///                       │  └──────────────────────────────  waiting  ◄─ gone, ──┤   refused: the kernel      │
///                       │                                               again   │   has removed it           │
///                       ├───────────────────────── gone ◄───────────────────────┘                            │
///                       └─────────────────── a link ended ◄───────────────────  suspended  ◄────────────────┘
/// ```
/// The kernel tells of an instance that is removed; a bluetoothd that starts removes all where it sees any. When another
/// program gives a number of its choice other data the kernel tells nobody: that bluetoothd, which counts from 1, doesn't
/// is why the highest number is taken. Nor does the list of instances help: it leaves out those whose number is higher
/// than there are instances. Source: kernel, net/bluetooth/mgmt.c, `read_adv_features`.
struct AdvertisementMachine {
    /// Why it is over.
    enum Failure: Hashable {
        case management(ManagementFailure)
        case unfit(AdvertisingFault)
        case noFreeInstance(of: UInt8)
        /// It was put back so many times, and was gone again at once.
        case takenAway(times: Int)
    }

    /// What the driver is to do.
    struct Output: Equatable {
        enum Command: Equatable {
            case readFeatures
            /// Takes the first of these numbers that no other program of this library has.
            case claim([UInt8])
            case add(UInt8, AdvertisingPayload)
            case remove(UInt8)
        }
        enum Timer: Equatable {
            case start(Duration)
            case cancel
        }
        enum Report: Equatable {
            case started
            case failed(Failure)
        }
        /// What has become of what it was changed to.
        enum Change: Equatable {
            /// It is on air, or will be as soon as anything is.
            case made
            /// The kernel doesn't take it: what was on air before is put back.
            case refused(ManagementFailure)
        }

        var command: Command?
        var timer: Timer?
        var report: Report?
        var change: Change?
    }

    private enum State: Equatable {
        case idle
        case choosing
        /// Of so many instances.
        case claiming(of: UInt8)
        case adding(UInt8)
        case onAir(UInt8)
        case renewing(UInt8)
        /// For the timer.
        case waiting
        /// The controller can't advertise beside a link that there is: for its end.
        case suspended
        /// Cancelled while the answer to a command is awaited that puts the instance up.
        case endingAdded(UInt8)
        case over
    }

    /// How long after a second loss, or a failure for a passing reason, it is tried again.
    static let pause = Duration.seconds(1)
    /// How many losses, or failures, in a row are too many.
    static let patience = 8
    /// How long it has to be on air for earlier ones to be forgotten.
    static let calm = Duration.seconds(30)

    private var request: AdvertiseRequest
    private var state = State.idle
    private var features: ManagementReadAdvertisingFeatures.Response?
    private var payload: AdvertisingPayload?
    /// What was on air before a change of which the kernel has not yet said what it makes.
    private var former: (request: AdvertiseRequest, payload: AdvertisingPayload)?
    /// Changed while the answer to a command is awaited that puts up what was wanted before.
    private var isOutdated = false
    private var centrals: Set<ManagementAddress> = []
    private var losses = 0
    private var failures = 0
    private var hasStarted = false
    private var renewalIsDue = false

    init(_ request: AdvertiseRequest) { self.request = request }

    /// The instance that the kernel has, or may have, for this advertisement.
    var instance: UInt8? {
        switch state {
        case .adding(let number), .onAir(let number), .renewing(let number), .endingAdded(let number): number
        case .idle, .choosing, .claiming, .waiting, .suspended, .over: nil
        }
    }

    mutating func begin() -> Output { state == .idle ? choose() : Output() }

    /// Nobody wants it any more.
    mutating func cancel() -> Output {
        defer { if case .endingAdded = state {} else { state = .over } }
        switch state {
        case .adding(let number):
            state = .endingAdded(number)
            return Output(timer: .cancel)
        case .renewing(let number):
            // It is taken down at once, and again when the answer is there: the kernel may do the one before the other.
            state = .endingAdded(number)
            return Output(command: .remove(number), timer: .cancel)
        case .onAir(let number):
            return Output(command: .remove(number), timer: .cancel)
        case .endingAdded, .over: return Output()
        case .idle, .choosing, .claiming, .waiting, .suspended: return Output(timer: .cancel)
        }
    }
}

// MARK: - What the kernel answers

extension AdvertisementMachine {
    mutating func featuresRead(
        _ answer: Result<ManagementReadAdvertisingFeatures.Response, ManagementFailure>
    ) -> Output {
        guard state == .choosing else { return Output() }
        switch answer {
        case .success(let features): return choose(from: features)
        case .failure(let failure): return failed(failure)
        }
    }

    /// A number is this program's now; `nil` where others have them all.
    mutating func claimed(_ number: UInt8?) -> Output {
        guard case .claiming(let count) = state, let payload else { return Output() }
        guard let number else { return over(.noFreeInstance(of: count)) }
        state = .adding(number)
        return Output(command: .add(number, payload))
    }

    /// The kernel has answered a command that was to put the instance up.
    ///
    /// - Parameter isCentral: whether the adapter has a link as central, beside which many controllers can't advertise. The
    ///   kernel refuses the parameters then.
    mutating func added(_ failure: ManagementFailure?, isCentral: Bool = false) -> Output {
        switch (state, failure) {
        case (.adding(let number), nil), (.renewing(let number), nil):
            var output = isOnAir(number)
            if isOutdated {
                output.command = renew(number).command
            } else if former != nil {
                former = nil
                output.change = .made
            }
            return output
        case (.renewing(let number), .some(let failure)) where failure.status == .busy:
            // Another program's command is under way, and nothing has changed.
            state = .onAir(number)
            renewalIsDue = true
            return Output(timer: .start(Self.pause))
        case (.renewing, .some) where !centrals.isEmpty,
            (.renewing, .some) where isCentral,
            (.adding, .some) where hasStarted && (isCentral || !centrals.isEmpty):
            // The kernel removes an instance that it can't change, and says so to all others.
            state = .suspended
            return Output(timer: .cancel, change: settled())
        case (.renewing, .some(let failure)):
            guard let former, !isOutdated else { return lost() }
            (request, payload, self.former) = (former.request, former.payload, nil)
            var output = lost()
            output.change = .refused(failure)
            return output
        // The same parameters were accepted before: the link that was in the way has just ended.
        case (.adding, .some(let failure)) where hasStarted && failure.status == .invalidParameters: return lost()
        case (.adding, .some(let failure)): return failed(failure)
        case (.endingAdded(let number), _):
            state = .over
            return Output(command: .remove(number))
        default: return Output()
        }
    }

    mutating func timerFired() -> Output {
        switch state {
        case .waiting: return choose()
        case .onAir(let number) where renewalIsDue: return renew(number)
        case .onAir, .renewing:
            losses = 0
            failures = 0
            return Output()
        default: return Output()
        }
    }
}

// MARK: - What is wanted

extension AdvertisementMachine {
    /// Advertises something else in the same instance. Thrown, nothing has changed.
    mutating func change(to new: AdvertiseRequest) throws(AdvertisingFault) -> Output {
        // It is not known yet what the controller can do.
        guard let features else {
            request = new
            return Output(change: .made)
        }
        let before = payload.map { (request, $0) }
        let payload = try AdvertisingPayload(new, for: features)
        (request, self.payload) = (new, payload)
        switch state {
        case .onAir(let number):
            former = former ?? before
            return renew(number)
        case .adding, .renewing:
            former = former ?? before
            isOutdated = true
            return Output()
        case .idle, .choosing, .claiming, .waiting, .suspended, .endingAdded, .over: return Output(change: .made)
        }
    }

    /// Whatever was changed goes on air as soon as anything does.
    private mutating func settled() -> Output.Change? {
        defer { (former, isOutdated) = (nil, false) }
        return former == nil ? nil : .made
    }
}

// MARK: - What the kernel tells

extension AdvertisementMachine {
    /// An instance is gone, this one or another program's.
    mutating func removed(_ number: UInt8) -> Output {
        // Otherwise what becomes of it is in the answer to come, or was asked for by nobody but this program.
        state == .onAir(number) ? lost() : Output()
    }

    /// Another program has made an instance: where it has this number, this program's was gone, of which nothing was heard.
    mutating func appeared(_ number: UInt8) -> Output {
        state == .onAir(number) ? lost() : Output()
    }

    /// Something that the kernel told had no room: the instance is put up again, be it there or not.
    mutating func missedEvents() -> Output {
        guard case .onAir(let number) = state else { return Output() }
        return renew(number)
    }

    /// A central has connected. The kernel has ended the advertising for it; others may come beside it.
    mutating func centralCame(_ central: ManagementAddress) -> Output {
        centrals.insert(central)
        guard request.isConnectable, case .onAir(let number) = state else { return Output() }
        return renew(number)
    }

    /// A link has ended, in whichever role.
    mutating func linkEnded(_ peer: ManagementAddress) -> Output {
        centrals.remove(peer)
        return state == .suspended ? choose() : Output()
    }
}

// MARK: - Steps

extension AdvertisementMachine {
    private mutating func choose() -> Output {
        state = .choosing
        return Output(command: .readFeatures, change: settled())
    }

    private mutating func choose(from features: ManagementReadAdvertisingFeatures.Response) -> Output {
        self.features = features
        do throws(AdvertisingFault) {
            payload = try AdvertisingPayload(request, for: features)
            state = .claiming(of: features.maximumInstances)
            return Output(command: .claim(features.freeInstances))
        } catch {
            return over(.unfit(error))
        }
    }

    private mutating func renew(_ number: UInt8) -> Output {
        guard let payload else { return Output() }
        state = .renewing(number)
        (renewalIsDue, isOutdated) = (false, false)
        return Output(command: .add(number, payload))
    }

    private mutating func isOnAir(_ number: UInt8) -> Output {
        state = .onAir(number)
        defer { hasStarted = true }
        return Output(
            timer: losses + failures > 0 ? .start(Self.calm) : nil,
            report: hasStarted ? nil : .started
        )
    }

    /// It is gone: put back at once, and where that doesn't last, after a while.
    private mutating func lost() -> Output {
        losses += 1
        renewalIsDue = false
        if losses > Self.patience { return over(.takenAway(times: Self.patience)) }
        guard losses > 1 else { return choose() }
        state = .waiting
        return Output(timer: .start(Self.pause), change: settled())
    }

    private mutating func failed(_ failure: ManagementFailure) -> Output {
        failures += 1
        guard failure.mayPass, failures <= Self.patience else { return over(.management(failure)) }
        state = .waiting
        return Output(timer: .start(Self.pause), change: settled())
    }

    private mutating func over(_ failure: Failure) -> Output {
        state = .over
        return Output(timer: .cancel, report: .failed(failure))
    }
}

extension ManagementFailure {
    /// Whether the same command may succeed a moment later: another program's is under way, or the controller is
    /// occupied.
    fileprivate var mayPass: Bool {
        switch self {
        case .status(.busy, _), .status(.failed, _), .status(.noResources, _), .status(.timeout, _), .timedOut: true
        default: false
        }
    }
}

extension ManagementReadAdvertisingFeatures.Response {
    /// The numbers that no instance has, as far as the kernel tells, the highest first.
    ///
    /// bluetoothd counts from 1, and doesn't look whether a number is taken: it would silently replace our instance by
    /// its own.
    var freeInstances: [UInt8] {
        guard maximumInstances > 0 else { return [] }
        return (1...maximumInstances).reversed().filter { !instances.contains($0) }
    }
}
