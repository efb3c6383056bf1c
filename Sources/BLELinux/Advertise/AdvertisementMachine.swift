internal import BLEProtocol
internal import BLERadio

/// Keeps an advertising instance on air while other programs add and remove theirs.
///
/// ```
///            begin              sizes             a number           answer
///   (idle) ─────────► choosing ───────► claiming ──────────► adding ─────────► on air ─ a central came ─► renewing
///                       ▲  ▲                                   │ a passing      │    ◄─────── answer ──────┘ │
///                       │  │ timer                             ▼ failure        │                            │
///                       │  └──────────────────────────────  waiting  ◄─ gone, ──┤   refused: the kernel      │
///                       │                                               again   │   has removed it           │
///                       ├───────────────────────── gone ◄───────────────────────┘                            │
///                       └─────────── a link ended, or may have; timer; change ◄──  suspended  ◄──────────────┘
/// ```
/// The kernel reports each instance that is removed; a bluetoothd that starts removes all it sees. That another program
/// replaces an instance's data isn't reported: bluetoothd counts from 1, so the highest number is taken. The list of
/// instances doesn't help: it lacks numbers above their count. Source: kernel, `mgmt.c`, `read_adv_features`.
struct AdvertisementMachine {
    private enum State: Equatable {
        case idle
        case choosing
        /// Takes a number, out of this many instances.
        case claiming(of: UInt8)
        case adding(UInt8)
        case onAir(UInt8)
        case renewing(UInt8)
        /// Waits for the timer.
        case waiting
        /// Waits for the end of a link beside which the controller can't advertise, or until events were missed and
        /// there is no link; for the timer too, if another reason is possible; for a change to what accepts no link.
        case suspended
        /// Cancelled while the answer to a command that adds the instance is awaited.
        case endingAdded(UInt8)
        case over
    }

    private var request: AdvertiseRequest
    private var state = State.idle
    private var features: ManagementReadAdvertisingFeatures.Response?
    private var payload: AdvertisingPayload?
    /// What was on air before a change that the kernel has not yet answered.
    private var former: (request: AdvertiseRequest, payload: AdvertisingPayload)?
    /// Whether a change was requested while the answer to an earlier command is awaited.
    private var isOutdated = false
    /// Whether a central has come while an answer is awaited, or may have: it may have ended what was put up.
    private var wasVisited = false
    /// Whether the kernel has it in the extended form; whether it was sent in that form last.
    private var isExtended = false
    private var isSentExtended = false
    private var centrals: Set<BluetoothAddress> = []
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

    /// Whether the kernel owes the answer to a command by which it has an instance.
    var awaitsInstance: Bool {
        switch state {
        case .adding, .renewing, .endingAdded: true
        case .idle, .choosing, .claiming, .onAir, .waiting, .suspended, .over: false
        }
    }

    /// The instance that the kernel may keep though it has refused to change it. Without extended advertising it does,
    /// and would have it on air again when the link ends that was in the way, even if this program has ended. Source:
    /// kernel, `net/bluetooth/mgmt.c`, `add_adv_complete`.
    func instance(keptAfter failure: ManagementFailure) -> UInt8? {
        guard case .renewing(let number) = state, let status = failure.status, status != .busy else { return nil }
        return number
    }

    mutating func begin() -> Output { state == .idle ? choose() : Output() }

    /// The program has cancelled the advertisement.
    mutating func cancel() -> Output {
        defer { if case .endingAdded = state {} else { state = .over } }
        switch state {
        case .adding(let number):
            state = .endingAdded(number)
            return Output(timer: .cancel)
        case .renewing(let number):
            // Removed now, and again with the answer: the kernel may carry out either command first.
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

    /// This program has taken a number; `nil` if other programs have all of them.
    mutating func claimed(_ number: UInt8?) -> Output {
        guard case .claiming(let count) = state, let payload else { return Output() }
        guard let number else { return over(.noFreeInstance(of: count)) }
        state = .adding(number)
        (wasVisited, isSentExtended) = (false, payload.isExtended)
        return Output(command: .add(number, payload))
    }

    /// The kernel has answered a command that adds the instance, or has not removed the one that it replaces.
    ///
    /// - Parameter isLinked: whether the adapter has a link, in either role, beside which many controllers can't
    ///   advertise. The kernel refuses the parameters then.
    mutating func added(_ failure: ManagementFailure?, isLinked: Bool = false) -> Output {
        switch (state, failure) {
        case (.adding(let number), nil), (.renewing(let number), nil):
            var output = isOnAir(number)
            isExtended = isSentExtended
            if !isOutdated, former != nil {
                former = nil
                output.change = .made
            }
            if isOutdated || wasVisited { output.command = renew(number).command }
            return output
        case (.adding(let number), .some(let failure)) where failure.status == nil,
            (.renewing(let number), .some(let failure)) where failure.status == nil:
            return isInDoubt(number, failure)
        case (.renewing(let number), .some(let failure)) where failure.status == .busy:
            // Another program's command is under way, and nothing has changed.
            state = .onAir(number)
            renewalIsDue = true
            return Output(timer: .start(Self.pause))
        case (.renewing, .some(let failure)) where isLinked || !centrals.isEmpty,
            (.adding, .some(let failure)) where hasStarted && (isLinked || !centrals.isEmpty):
            return linkIsInTheWay(failure)
        case (.renewing, .some(let failure)):
            let change = putBackFormer(failure)
            var output = lost()
            output.change = change ?? output.change
            return output
        // The same parameters were accepted before: the obstructing link has just ended.
        case (.adding, .some(let failure)) where hasStarted && failure.status == .invalidParameters: return lost()
        case (.adding, .some(let failure)) where hasStarted && failure.mayBeForLink:
            return failed(failure, mayPass: true)
        case (.adding, .some(let failure)): return failed(failure)
        case (.endingAdded(let number), _):
            state = .over
            return Output(command: .remove(number))
        default: return Output()
        }
    }

    mutating func timerFired() -> Output {
        switch state {
        case .waiting, .suspended: return choose()
        case .onAir(let number) where renewalIsDue: return renew(number)
        case .onAir, .renewing:
            (losses, failures) = (0, 0)
            return Output()
        default: return Output()
        }
    }
}

// MARK: - What is wanted

extension AdvertisementMachine {
    /// Changes what the same instance advertises. If it throws, nothing has changed.
    mutating func change(to new: AdvertiseRequest) throws(AdvertisingFault) -> Output {
        // The controller's features are not known yet.
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
        case .suspended where !new.isConnectable:
            former = former ?? before
            return tryBesideLink()
        case .idle, .choosing, .claiming, .waiting, .suspended, .endingAdded, .over:
            return Output(change: settled() ?? .made)
        }
    }

    /// What accepts no connection is tried beside a link that is in the way of what does: many controllers can
    /// advertise it there.
    private mutating func tryBesideLink() -> Output {
        (state, isOutdated) = (.choosing, false)
        return Output(command: .readFeatures, timer: .cancel)
    }

    /// A change goes on air as soon as the advertisement does.
    private mutating func settled() -> Output.Change? {
        defer { (former, isOutdated) = (nil, false) }
        return former == nil ? nil : .made
    }
}

// MARK: - What the kernel tells

extension AdvertisementMachine {
    /// An instance was removed: this one, or another program's.
    mutating func removed(_ number: UInt8) -> Output {
        // Otherwise the pending answer says what happened to it, or this program itself has requested the removal.
        state == .onAir(number) ? lost() : Output()
    }

    /// Another program has added an instance: if it has this number, this program's was removed without a report.
    mutating func appeared(_ number: UInt8) -> Output {
        state == .onAir(number) ? lost() : Output()
    }

    /// Some of the kernel's events were lost: the instance is added again, whether it is there or not, and the end of a
    /// link is waited for only if there is still one, in either role.
    mutating func missedEvents(isLinked: Bool = false) -> Output {
        centrals = []
        if awaitsInstance, request.isConnectable { wasVisited = true }
        if case .onAir(let number) = state { return renew(number) }
        return state == .suspended && !isLinked ? choose() : Output()
    }

    /// A central has connected, and the kernel has ended the advertising; further centrals may connect.
    mutating func centralCame(_ central: BluetoothAddress) -> Output {
        centrals.insert(central)
        if awaitsInstance, request.isConnectable { wasVisited = true }
        guard request.isConnectable, case .onAir(let number) = state else { return Output() }
        // It was on air. Where centrals come all the time, it is never calm, and losses would add up for months.
        (losses, failures) = (0, 0)
        return renew(number)
    }

    /// A central has told its identity: the kernel names it by that from now on, also at its end.
    mutating func renamed(_ central: BluetoothAddress, to identity: BluetoothAddress) -> Output {
        if centrals.remove(central) != nil { centrals.insert(identity) }
        return Output()
    }

    /// A link of Low Energy has ended, in either role.
    mutating func linkEnded(_ peer: BluetoothAddress) -> Output {
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
        (renewalIsDue, isOutdated, wasVisited) = (false, false, false)
        isSentExtended = payload.isExtended
        return Output(command: isSentExtended == isExtended ? .add(number, payload) : .replace(number, payload))
    }

    private mutating func isOnAir(_ number: UInt8) -> Output {
        state = .onAir(number)
        defer { hasStarted = true }
        return Output(timer: losses + failures > 0 ? .start(Self.calm) : nil, report: hasStarted ? nil : .started)
    }

    /// The instance is gone: it is put back immediately, and after a while if that doesn't last.
    private mutating func lost() -> Output {
        losses += 1
        renewalIsDue = false
        if losses > Self.patience { return over(.takenAway(times: Self.patience)) }
        guard losses > 1 else { return choose() }
        state = .waiting
        return Output(timer: .start(Self.pause), change: settled())
    }

    /// A link may be in the way. An instance that can't be changed is removed, by the kernel or by the driver.
    private mutating func linkIsInTheWay(_ failure: ManagementFailure) -> Output {
        if isOutdated, !request.isConnectable { return tryBesideLink() }
        // A failure that may pass need not be the link's, which may last for weeks.
        state = .suspended
        let isPassing = failure.mayPass || failure.isSilence
        return Output(timer: isPassing ? .start(Self.calm) : .cancel, change: settled())
    }

    /// The kernel may have the instance, or not: it gave no answer. It is removed before another one is added.
    private mutating func isInDoubt(_ number: UInt8, _ failure: ManagementFailure) -> Output {
        let change = putBackFormer(failure)
        var output = failed(failure)
        output.command = .remove(number)
        output.change = change ?? output.change
        return output
    }

    /// What was on air before a change that has failed is wanted again.
    private mutating func putBackFormer(_ failure: ManagementFailure) -> Output.Change? {
        guard let former, !isOutdated else { return nil }
        (request, payload, self.former) = (former.request, former.payload, nil)
        return .refused(failure)
    }

    private mutating func failed(_ failure: ManagementFailure, mayPass: Bool = false) -> Output {
        failures += 1
        let patience = failure.status == .busy ? Self.busyPatience : Self.patience
        guard mayPass || failure.mayPass, failures <= patience else { return over(.management(failure)) }
        state = .waiting
        return Output(timer: .start(Self.pause), change: settled())
    }

    private mutating func over(_ failure: Failure) -> Output {
        state = .over
        return Output(timer: .cancel, report: .failed(failure))
    }
}
