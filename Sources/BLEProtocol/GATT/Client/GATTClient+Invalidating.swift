extension GATTClient {
    /// Notes that handles may mean something else from now on.
    ///
    /// A procedure that names one of them and has not been sent ends with ``GATTFailure/databaseChanged``. A procedure
    /// that has been sent gets its answer, but sends nothing more; a read then ends in the same way, since it is
    /// unknown which attribute the value belongs to, and so does what the peer answers with Invalid Handle.
    package mutating func invalidate(_ handles: ClosedRange<UInt16>) -> Output {
        var output = Output()
        func isMeant(_ procedure: any GATTProcedure) -> Bool { procedure.handles.contains { handles.contains($0) } }

        let waiting = queue.filter { isMeant($0.procedure) }.map(\.id)
        queue.removeAll { isMeant($0.procedure) }
        let lost = commands.filter { $0.handles.contains { handles.contains($0) } }.map(\.id)
        if let first = commands.first, lost.contains(first.id), offered == .command { offered = nil }
        commands.removeAll { lost.contains($0.id) }
        if case .command(var command)? = onItsWay, command.handles.contains(where: { handles.contains($0) }) {
            command.isStale = true
            onItsWay = .command(command)
        }
        for id in (lost + waiting).sorted() {
            output.finished.append(Finished(id: id, result: .failure(.databaseChanged)))
        }

        if slot?.stage == .running, let occupant, isMeant(occupant) {
            if slot?.sentMTU == nil {
                if offered == .request { offered = nil }
                endRunning(with: .databaseChanged, &output)
            } else {
                slot?.isStale = true
            }
        }
        return output
    }
}
