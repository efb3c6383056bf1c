// Compares streams with plain C loops that do the same work over the same kind of socket, in the same run.
//
//   swift run -c release Benchmarks [--only SUITE]… [--runs N] [--json FILE]
//   Tests/Benchmarks/counts [--accept]
//
// SUITE: notifications, requests, operators, advertising, links, memory, instructions; all unless told otherwise. The
// table goes to stdout, the same as JSON to FILE; `--json -` puts the JSON to stdout in place of the table.
//
// The second compares what a value costs on each path, in instructions and allocations, with Counts.txt, and fails
// where something differs; with --accept it writes them there.
//
// What runs in the kernel lab is called with --kernel; see Suites/Kernel.swift.
//
// The figure is what a goal is about; that of a ratio is our rate as a part of the C loop's, of the medians of runs
// that took turns. Times on a busy machine say little, ratios more, instructions repeat exactly.

import FoundationEssentials
import Glibc

var only: [String] = []
var runs = 7
var file: String?

func fail(_ message: String) -> Never {
    say(message, on: STDERR_FILENO)
    exit(2)
}

let suites = ["notifications", "requests", "operators", "advertising", "links", "memory", "instructions"]
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch (argument, arguments.first) {
    case ("--only", let suite?) where suites.contains(suite): only.append(suite)
    case ("--runs", let count?) where Int(count) ?? 0 > 0: runs = Int(count) ?? runs
    case ("--json", let path?): file = path
    case ("--decode", let name?):
        // What `instructions` counts; see there.
        guard let path = Instructions.Path(rawValue: name), let count = arguments.dropFirst().first.flatMap({ Int($0) })
        else { fail("--decode PATH COUNT") }
        Instructions.decodeAndExit(path, count)
    case ("--gateway", let folder?):
        // What `memory` weighs; see there.
        try await Memory.beGateway(keeping: folder)
        exit(0)
    case ("--check", let next) where next == nil || next == "--accept":
        exit(try CountCheck().run(accepts: next != nil) ? 0 : 1)
    case ("--kernel", _?):
        try await Kernel.run(Array(arguments))
        exit(0)
    default: fail("Benchmarks [--only \(suites.joined(separator: "|"))]… [--runs N] [--json FILE]")
    }
    _ = arguments.popFirst()
}

var report = Report(runs: runs)
let showsTable = file != "-"
if showsTable { print(Report.heading) }

for suite in suites where only.isEmpty || only.contains(suite) {
    let rows: [Row]
    switch suite {
    case "notifications": rows = try await Notifications().run(runs)
    case "requests": rows = try await Requests().run(runs)
    case "operators": rows = try await Operators().run(runs)
    case "advertising": rows = try await Advertising().run(runs)
    case "links": rows = try await ManyLinks().run(runs)
    case "memory": rows = try await Memory().run(runs)
    default: rows = try Instructions().run()
    }
    if showsTable { for row in rows { print(row.line) } }
    report.rows += rows
}

switch file {
case "-"?: print(try report.json())
case let path?: try report.json().write(toFile: path, atomically: true, encoding: .utf8)
case nil: break
}
