import BLEStreams

// The turns of commands, and how each one ends.
extension ReferenceQueue {
    /// A command of the play.
    final class Member {
        let number: Int
        let command: ComposedQueuePlay.Command
        /// When it is in the queue; of a flow, once the one before it has ended.
        var entry: Int?
        /// When another flow replaces it, and by which.
        var isReplaced = Int.max
        var replacement = ""
        var end: Int?

        init(_ number: Int, _ command: ComposedQueuePlay.Command) {
            (self.number, self.command) = (number, command)
            if command.way != .replacing { entry = command.begins }
        }

        var deadline: Int { command.deadline.map { (entry ?? 0) + $0 } ?? .max }
    }

    /// Plays all.
    func outcomeOfAll() -> ComposedQueuePlay.Outcome {
        let members = play.commands.enumerated().map { Member($0.offset, $0.element) }
        // A call by a task that is cancelled already replaces nothing.
        let flows = members.filter { $0.command.way == .replacing && $0.command.isCancelled > $0.command.begins }
        for (flow, next) in zip(flows, flows.dropFirst()) {
            flow.isReplaced = next.command.begins
            let name = next.command.work.name
            flow.replacement = "ended \(flow.command.work.name): another command has taken its place: \(name)"
        }
        if case .link = play.source { try? makeLink(.max, .max) }
        while true {
            settle(members, flows)
            if let next = next(members) {
                run(next)
            } else {
                let later = members.filter { $0.end == nil }.map { $0.entry ?? $0.command.begins } + [play.ends]
                let moment = later.filter { $0 > now }.min()
                if closed == nil { idle(until: moment ?? now) }
                guard let moment else { break }
                now = moment
            }
        }
        finishLinks()
        return outcome
    }

    /// No command is there until then: the queue closes, or its link is ended once that has lasted for long enough.
    private func idle(until moment: Int) {
        if now >= play.ends {
            closed = now
            return
        }
        guard let idleLimit, let link, now + idleLimit < moment else { return }
        link.ends = min(link.ends, now + idleLimit)
        (self.link, self.idleLimit) = (nil, nil)
    }

    /// Ends the commands that have left without having begun. A flow comes in once those before it have ended.
    private func settle(_ members: [Member], _ flows: [Member]) {
        var former = 0
        for flow in flows {
            let entry = max(flow.command.begins, former)
            if flow.entry == nil, flow.end == nil, entry <= now {
                if flow.command.isCancelled <= entry {
                    finish(flow, flow.command.isCancelled, "cancelled")
                } else if flow.isReplaced <= entry {
                    finish(flow, entry, flow.replacement)
                } else {
                    flow.entry = entry
                }
            }
            leaveEarly(flow)
            guard let end = flow.end else { break }
            former = max(former, end)
        }
        for member in members where member.end == nil {
            let begins = member.command.begins
            if member.command.way == .replacing, member.command.isCancelled <= begins {
                if begins <= now { finish(member, begins, "cancelled") }
            } else {
                leaveEarly(member)
            }
        }
    }

    private func leaveEarly(_ member: Member) {
        guard member.end == nil, let entry = member.entry, entry <= now else { return }
        let over = "ended \(member.command.work.name): the queue has ended"
        if entry >= play.ends { return finish(member, entry, over) }
        let reasons: [(Int, String)] = [
            (max(entry, member.command.isCancelled), "cancelled"), (member.isReplaced, member.replacement),
            (member.deadline, "timedOut \(member.command.work.name)"),
            (play.ends, play.isCancelled ? "cancelled" : over),
        ]
        guard let first = reasons.min(by: { $0.0 < $1.0 }), first.0 <= now else { return }
        finish(member, first.0, first.1)
    }

    private func finish(_ member: Member, _ moment: Int, _ text: String) {
        member.end = moment
        outcome.ends[member.number] = "\(moment) \(text)"
    }

    /// The next command: the most urgent one, of these the first. One that comes as another ends comes behind that.
    private func next(_ members: [Member]) -> Member? {
        let here = members.filter { $0.end == nil && $0.entry.map { $0 <= now } ?? false }
        let waiting = here.filter { $0.entry.map { $0 < now } ?? false }
        return (waiting.isEmpty ? here : waiting).min { first, second in
            let order = (-first.command.priority, first.entry ?? 0, first.number)
            return order < (-second.command.priority, second.entry ?? 0, second.number)
        }
    }

    private func run(_ member: Member) {
        let command = member.command
        let cancelled = min(command.isCancelled, member.isReplaced)
        let cancel = min(cancelled, member.deadline, play.ends)
        let work = Work(command.work.name, handle: command.handle)
        (work.isReplaced, work.replacement) = (member.isReplaced, member.replacement)
        var text = "done"
        do throws(Trouble) {
            let decorations = play.handles[command.handle]
            let connects = decorations.contains { if case .connecting = $0 { true } else { false } }
            if !isOfSession, !connects { _ = try hold(link, work, nil, cancel) }
            try run(command.work, inside: decorations[...], work, cancel)
        } catch {
            text = error.text
            if cancel <= now, cancel < cancelled {
                if cancel == member.deadline { text = "timedOut \(work.name)" }
                if cancel == play.ends, !play.isCancelled { text = "ended \(work.name): the queue has ended" }
            }
            if member.isReplaced <= now, member.isReplaced < command.isCancelled { text = member.replacement }
        }
        leaveLink(of: work)
        finish(member, now, text)
    }

    /// The last command decides what becomes of the link.
    private func leaveLink(of work: Work) {
        switch work.after {
        case .disconnect? where isOfPeripheral && work.link != nil: disconnect(work)
        case .disconnectWhenIdle(let limit)? where isOfPeripheral && link != nil:
            idleLimit = Int(limit / .microseconds(1))
        case .stay?: idleLimit = nil
        case .disconnect?, .disconnectWhenIdle?, nil: break
        }
    }

    /// What becomes of the links until the end.
    private func finishLinks() {
        let end = closed ?? now
        while isOfSession, windows.last.map({ $0.ends < end }) ?? true { _ = window(after: windows.last?.ends ?? 0) }
        for link in windows where link.begins <= end {
            outcome.links.append("\(link.begins) up")
            outcome.links.append("\(min(link.ends, end)) down")
        }
        outcome.links.removeAll { Int($0.prefix { $0 != " " }) ?? 0 > end }
        outcome.links.sort()
    }
}
