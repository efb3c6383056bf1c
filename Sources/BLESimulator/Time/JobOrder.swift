/// The order in which ``VirtualTime`` runs the jobs that are runnable now.
public enum JobOrder: Hashable, Sendable {
    /// Random, determined by the seed: finds code that depends on an unspecified order.
    case shuffled
    /// In the order in which they became runnable.
    case firstInFirstOut
    /// Random, and one job in sixteen runs late, by up to this much virtual time, as on a busy machine: finds code that
    /// depends on a task continuing immediately.
    case delayed(upTo: Duration)
}
