import BLEStreams

// Links, and what prepares them.
extension ReferenceQueue {
    /// Does the preparations first, unless the command has attempts of its own.
    func attempt(_ command: ComposedWork, _ work: Work, _ cancel: Int) throws(Trouble) {
        if !beginsWithAttempts(command) { try prepare(work, cancel) }
        defer { work.attempt += 1 }
        try run(command, work, cancel)
    }

    /// Runs a command inside of decorations.
    func run(
        _ command: ComposedWork,
        inside decorations: ArraySlice<ComposedQueuePlay.Decoration>,
        _ work: Work,
        _ cancel: Int
    ) throws(Trouble) {
        guard let outermost = decorations.first else { return try attempt(command, work, cancel) }
        let rest = decorations.dropFirst()
        switch outermost {
        case .connecting(let limit, let after):
            work.after = after
            work.limits.append(limit)
            defer { work.limits.removeLast() }
            try run(command, inside: rest, work, cancel)
        case .authorizing:
            work.authorizations.append(Place(handle: work.handle, decoration: decorations.startIndex))
            defer { work.authorizations.removeLast() }
            try run(command, inside: rest, work, cancel)
        case .retrying(let pause, let attempts):
            try retry(pause, attempts, work, cancel) { () throws(Trouble) in
                try run(command, inside: rest, work, cancel)
            }
        case .timingOut(let limit):
            let retries = rest.contains { if case .retrying = $0 { true } else { false } }
            let connects = rest.contains { if case .connecting = $0 { true } else { false } }
            if !retries, !beginsWithAttempts(command) { try prepare(work, cancel, waitsForSession: !connects) }
            try self.limit(limit, command.name, cancel) { (cancel) throws(Trouble) in
                try run(command, inside: rest, work, cancel)
            }
        case .around(let before, let after):
            try wait(until: now + before, cancel)
            try run(command, inside: rest, work, cancel)
            try wait(until: now + after, cancel)
        }
    }

    /// A link, and then the authorizations that are due.
    func prepare(_ work: Work, _ cancel: Int, waitsForSession: Bool = true) throws(Trouble) {
        let waits = waitsForSession && isOfSession
        guard waits || !work.limits.isEmpty || !work.authorizations.isEmpty, !work.isAuthorizing else { return }
        let limit = work.limits.first.map { now + $0 }
        let wasConnected = isConnected(work)
        if waits || limit != nil { try findLink(limit, work, cancel) }
        if wasConnected { try authorize(work, cancel) }
    }

    func isConnected(_ work: Work) -> Bool { work.link.map { $0.ends > now } ?? false }

    func connect(_ limit: Int, _ work: Work, _ cancel: Int) throws(Trouble) {
        switch play.source {
        case .peripheral: try findLink(now + limit, work, cancel)
        case .link where isConnected(work): return
        case .link, .session: throw Trouble(text: "notSupported connect", isFinal: true)
        }
    }

    func disconnect(_ work: Work) {
        work.link = nil
        end(link)
        link = nil
        idleLimit = nil
    }

    func end(_ link: Link?) {
        guard let link, link.ends > now else { return }
        link.ends = now
    }

    /// Ensures that there is a link, on which the authorizations are done.
    func findLink(_ limit: Int?, _ work: Work, _ cancel: Int) throws(Trouble) {
        work.requests += 1
        if isConnected(work) { return }
        work.link = nil
        let isNew = try obtainLink(limit, work, cancel)
        do throws(Trouble) { try authorize(work, cancel) } catch {
            if isNew { if isOfPeripheral { disconnect(work) } else { work.link = nil } }
            throw error
        }
    }

    /// - Returns: whether it is not the one that the queue had.
    private func obtainLink(_ limit: Int?, _ work: Work, _ cancel: Int) throws(Trouble) -> Bool {
        if isOfSession {
            while true {
                let next = window(after: now)
                try wait(until: next.begins, Limit.first(limit, "timedOut session"), cancel)
                guard try hold(next, work, Limit.first(limit, "timedOut session"), cancel) else { continue }
                if link !== next { idleLimit = nil }
                link = next
                return true
            }
        }
        if try hold(link, work, Limit.first(limit, "timedOut hold the link"), cancel) { return false }
        guard isOfPeripheral else { throw noLink }
        try makeLink(limit ?? now + 30_000_000, cancel)
        work.link = link
        return true
    }

    func makeLink(_ limit: Int, _ cancel: Int) throws(Trouble) {
        if cancel <= now { throw .cancellation }
        let connection = play.connections[attempts % play.connections.count]
        attempts += 1
        outcome.links.append("\(now) connect")
        try wait(until: now + connection.after, Limit(ends: limit, text: "timedOut connect"), cancel)
        if connection.fails { throw Trouble(text: "connectionFailed connect") }
        links += 1
        let made = Link(number: links, begins: now, ends: now + connection.lifetime)
        (link, idleLimit) = (made, nil)
        windows.append(made)
    }

    /// Waits within a limit.
    func wait(until end: Int, _ limit: Limit?, _ cancel: Int) throws(Trouble) {
        guard let limit, limit.ends < min(end, cancel), cancel > now else { return try wait(until: end, cancel) }
        now = max(now, limit.ends)
        throw Trouble(text: limit.text)
    }

    /// Waits until the device owes no answer, and has exclusive use of the link; `false` if it isn't up.
    func hold(_ link: Link?, _ work: Work, _ limit: Limit?, _ cancel: Int) throws(Trouble) -> Bool {
        guard let link, link.ends > now else { return false }
        if cancel <= now { throw .cancellation }
        let moment = max(now, link.answered)
        guard link.ends < min(moment, cancel, limit?.ends ?? .max) else {
            try wait(until: moment, limit, cancel)
            work.link = link
            return true
        }
        now = link.ends
        return false
    }

    func authorize(_ work: Work, _ cancel: Int) throws(Trouble) {
        guard !work.isAuthorizing, let link else { return }
        let attempt = work.attempt
        for place in work.authorizations {
            guard case .authorizing(let rule, let exchange) = play.handles[place.handle][place.decoration],
                isDone[place] != link.number || (rule == .beforeEachCommand && work.authorized[place] != attempt)
            else { continue }
            work.isAuthorizing = true
            defer { work.isAuthorizing = false }
            do throws(Trouble) { try run(exchange, work, cancel) } catch {
                work.authorized = [:]
                throw error
            }
            isDone[place] = link.number
            work.authorized[place] = attempt
            work.attempt = attempt
        }
    }

    func reconnect(_ pause: Int, _ attempts: Int, _ work: Work, _ cancel: Int) throws(Trouble) {
        work.requests += 1
        var failures = 0
        while !isConnected(work) {
            try check(work)
            guard isOfPeripheral || isOfSession else { throw noLink }
            do throws(Trouble) { try findLink(nil, work, cancel) } catch {
                failures += 1
                guard !error.isCancellation, !error.isFinal || error.endsLink && !error.isWithoutLink,
                    failures <= attempts
                else { throw error }
                try wait(until: now + pause, cancel)
            }
        }
    }

    func resume(
        _ pause: Int,
        _ attempts: Int,
        _ body: ComposedWork,
        _ work: Work,
        _ cancel: Int
    ) throws(Trouble) {
        var failures = 0
        while true {
            var link: Link?
            do throws(Trouble) {
                try reconnect(pause, attempts, work, cancel)
                link = work.link
                return try run(body, work, cancel)
            } catch {
                guard error.endsLink, link.map({ $0.ends <= now }) ?? true, isOfPeripheral || isOfSession,
                    link != nil
                else { throw error }
                failures += 1
                guard failures <= attempts else { throw error }
                try wait(until: now + pause, cancel)
            }
        }
    }

    /// The link that a session has, or its next one.
    func window(after now: Int) -> Link {
        guard case .session(let pause) = play.source else { return Link(number: 0, begins: 0, ends: 0) }
        while true {
            if let last = windows.last, last.ends > now { return last }
            var moment = windows.last.map { $0.ends + pause } ?? 0
            while true {
                let connection = play.connections[attempts % play.connections.count]
                attempts += 1
                outcome.links.append("\(moment) connect")
                moment += connection.after
                if connection.fails {
                    moment += pause
                    continue
                }
                links += 1
                windows.append(Link(number: links, begins: moment, ends: moment + connection.lifetime))
                break
            }
        }
    }
}

extension ReferenceQueue.Limit {
    static func first(_ ends: Int?, _ text: String) -> ReferenceQueue.Limit? {
        ends.map { ReferenceQueue.Limit(ends: $0, text: text) }
    }
}
