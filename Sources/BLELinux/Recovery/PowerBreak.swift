internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// Switches an adapter off briefly and on again, and notes that meanwhile: if the program is killed in between, the
/// next one switches it on, ``Leftovers/restorePower(of:through:bluetoothd:)``.
struct PowerBreak: Sendable {
    typealias Outcome = Result<Void, BLEError>

    let facts: AdapterFacts
    let management: ManagementSocket
    let adapter: LinuxAdapter
    let leftovers: Leftovers
    let loop: EventLoop
    let timeline: any Timeline
    /// Looks at the adapter when it is on again though nobody waits for that any more.
    let watch: AdapterWatch?

    /// Starts, on the loop's thread; runs to its end even if nobody waits for it.
    ///
    /// A controller that hangs may be reset by its driver just when it is to be switched off. It was on, and comes back
    /// off, where nobody else switches it on: so that counts as switched off.
    ///
    /// - Parameters:
    ///   - work: done while it is off; it is switched on afterwards, unless the program has switched it off meanwhile.
    ///   - result: called with the first failure, if any; that the adapter is left off is more than any other. An
    ///     adapter that could not be switched on stays noted, and so does one that the kernel may close yet.
    func begin(
        doing work: @escaping @Sendable (_ done: @escaping @Sendable (Outcome) -> Void) -> Void,
        _ result: @escaping @Sendable (Outcome) -> Void
    ) {
        let mark = PowerWish.mark(breaking: facts)
        let removals = adapter.seenRemovals
        let note = Mutex(leftovers.note(KernelThing(.off, 0, of: facts)))
        // Released before the result is reported.
        let end: @Sendable (Bool, Outcome) -> Void = { isToBeOn, outcome in
            do {
                let last = note.withLock { $0.take() }
                if !isToBeOn { last?.forget() }
            }
            result(outcome)
        }
        power(false, partOf: mark) { off in
            guard off.failure == nil || adapter.removals != removals else {
                return end(PowerSwitch.isBeingClosed(adapter) && mark.contrary(to: true) == .none, off)
            }
            work { worked in
                power(true, partOf: mark) { on in
                    let isOverruled = on.failure != nil && mark.contrary(to: true) != .none
                    end(on.failure != nil && !isOverruled, outcome(of: worked, on, isOverruled: isOverruled))
                }
            }
        }
    }

    /// - Parameter isOverruled: whether the program wishes by now that it be off.
    private func outcome(of worked: Outcome, _ on: Outcome, isOverruled: Bool) -> Outcome {
        guard case .failure(let failure) = on, !adapter.isUp, !isOverruled else {
            if case .failure = worked { return worked }
            // Whatever the kernel has refused it for: nobody is to try again.
            return isOverruled ? .failure(.switchedOffMeanwhile(adapter.name)) : on
        }
        var error = failure.leavingOff(adapter.name)
        if case .failure(let first) = worked { error.cause += "; before, \(first.operation) failed: \(first.cause)" }
        return .failure(error)
    }

    /// The kernel has closed it after all: nobody else switches it on.
    private func putBack(partOf mark: PowerWish) {
        power(true, partOf: mark) { on in
            if on.failure == nil || mark.contrary(to: true) != .none { leftovers.forgetPower(of: facts) }
            watch?.look()
        }
    }

    private func power(_ isOn: Bool, partOf mark: PowerWish, then proceed: @escaping @Sendable (Outcome) -> Void) {
        PowerSwitch(
            isOn,
            partOf: mark,
            management,
            adapter,
            loop: loop,
            timeline: timeline,
            sink: EventSink(proceed),
            closedLate: { putBack(partOf: mark) }
        ).begin()
    }
}
