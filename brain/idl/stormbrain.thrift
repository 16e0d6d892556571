/**
 * The contract between the JVM plugin and the Python brain: one file for both sides.
 *
 * Transport: framed (4-byte length), TBinaryProtocol (strict). Both sides bound the frame.
 * Java stubs are generated from this file in the Maven build; Python loads it with thriftpy2.
 *
 * Evolution: fields are only ever added, and added optional. Whoever must break that raises
 * PROTOCOL_VERSION; the brain then refuses older shims with UnsupportedVersion, which names
 * both versions and the remedy.
 */
namespace java io.stormbrain.thrift

const i32 PROTOCOL_VERSION = 1

// ---------------------------------------------------------------- cluster state

/** A worker slot; node is the supervisor id, not the host name. */
struct Slot {
  1: required string node
  2: required i32 port
}

/** A Storm executor: the closed range of its task ids. */
struct ExecutorRange {
  1: required i32 start_task
  2: required i32 end_task
}

struct SupervisorState {
  1: required string id
  2: required string host
  3: optional string rack
  4: required list<i32> ports
  /** RAS points: 100 is one core. */
  5: optional double cpu_capacity
  6: optional double memory_capacity_mb
  7: optional bool blacklisted
}

struct StreamInput {
  1: required string source_component
  2: required string stream
  /** shuffle, fields, all, global, none, direct, local-or-shuffle, custom */
  3: required string grouping
  4: optional list<string> fields
}

struct ComponentState {
  1: required string id
  /** spout or bolt; system components (ids that begin with __) are bolts too. */
  2: required string kind
  3: required i32 parallelism
  4: optional list<StreamInput> inputs
  5: optional double cpu_percent
  6: optional double memory_mb
}

struct ExecutorState {
  1: required ExecutorRange range
  2: required string component
  /** Where it runs now; absent when unassigned. */
  3: optional Slot slot
}

struct TopologyState {
  1: required string id
  2: required string name
  3: required i32 workers
  4: required list<ComponentState> components
  5: required list<ExecutorState> executors
  /** topology.brain.* keys, and Storm's own that matter for placement, as JSON values. */
  6: optional map<string, string> conf
  /** Whether Nimbus thinks that it needs scheduling. */
  7: optional bool needs_scheduling
  /** Seconds since submission. */
  8: optional i32 uptime_secs
}

/** Why the shim did not apply a plan, told to the brain with the next snapshot. */
struct PlanRejection {
  1: required string topology_id
  2: required i64 epoch
  /** One of: topology-gone, executor-set, dead-slot, shared-slot, stale-epoch, other-base, workers, digest, unreadable,
   *  unreachable, zookeeper. */
  3: required string code
  4: required string message
}

struct ClusterState {
  1: required i32 protocol_version
  2: required i64 time_ms
  3: required list<SupervisorState> supervisors
  4: required list<TopologyState> topologies
  5: optional list<PlanRejection> rejections
  6: optional string plugin_version
  7: optional string storm_version
  /** storm id of this Nimbus: host:port, for logs. */
  8: optional string nimbus
  9: optional string token
}

// ---------------------------------------------------------------- plans

/** What schedule() answers: the plan itself lies in ZooKeeper. */
struct PlanRef {
  1: required string topology_id
  2: required i64 epoch
  /** SHA-256 (hex) of the plan's bytes: Plan as TBinaryProtocol, before compression. */
  3: required string digest
}

struct PlacedExecutor {
  1: required ExecutorRange range
  2: required Slot slot
}

struct PlanCost {
  1: required double inter_node
  2: required double inter_worker
}

/**
 * znode <root>/plans/<topology-id>: 'S' 'B' 'P' 'L', one byte format (1), one byte encoding
 * (0 = plain Plan, 1 = zlib'd Plan, 2 = PlanManifest), then the struct by TBinaryProtocol.
 */
struct Plan {
  1: required i32 protocol_version
  2: required string topology_id
  /** Grows with each plan of this topology id; never reused. */
  3: required i64 epoch
  /** SHA-256 (hex) over "start-end component\n" of all executors, by start task. */
  4: required string executor_hash
  5: required string algorithm
  6: required PlanCost before
  7: required PlanCost after
  8: required string reason
  9: required list<PlacedExecutor> executors
  10: required i64 created_ms
  /** Election term of the brain that wrote it. */
  11: required i64 term
  12: optional string brain
  /** Id of the decision record that explains this plan. */
  13: optional string decision_id
  /** SHA-256 (hex) over "start-end node:port\n" of the assignment it was made from. Where it is
   *  set and the topology runs whole, the plan is applied over that assignment and no other. */
  14: optional string based_on
}

/** In place of a plan too large for one znode; its chunks lie under <root>/chunks/<digest>/. */
struct PlanManifest {
  1: required string topology_id
  2: required i64 epoch
  3: required string digest
  4: required i32 chunks
  /** Bytes of the chunks together: the zlib'd Plan. */
  5: required i64 size
}

// ---------------------------------------------------------------- reports of the workers

/** Tuples that arrived at a task from a source task within one window. */
struct EdgeCount {
  1: required i32 source_task
  2: required i32 target_task
  3: required i64 tuples
  /** Estimated by sampled serialisation. */
  4: required i64 bytes
  /** A stream of Storm itself (acks, ticks, metrics): its id begins with __. */
  5: optional bool system
}

struct TaskLoad {
  1: required i32 task
  2: required string component
  /** CPU milliseconds of the executor's thread, split among its tasks, and of its subprocess. */
  3: required double cpu_ms
  4: optional double shell_cpu_ms
  5: optional i64 executed
  6: optional i64 emitted
  7: optional i64 acked
  8: optional i64 failed
  /** Means over the window's sampled tuples. */
  9: optional double execute_latency_ms
  10: optional double complete_latency_ms
  11: optional i32 shell_pid
  12: optional double process_latency_ms
  /** The executor's receive queue as the window ended: percent of its capacity, and tuples that
   *  waited beside it because it was full, which is when Storm holds the senders up. */
  13: optional double queue_percent
  14: optional i64 queue_overflow
}

/** The machine as a whole, other processes included; from one worker of a node. */
struct NodeLoad {
  1: required i32 cores
  2: required double mhz
  /** 100 is one core. */
  3: required double cpu_percent
  4: required double memory_mb
  5: required double memory_used_mb
  /** Within the window, without loopback. */
  6: required i64 rx_bytes
  7: required i64 tx_bytes
  /** The kernel's boot id: supervisors that share a machine share it. */
  8: optional string machine
}

/** One window of one worker. worker_id + sequence is unique: duplicates are dropped. */
struct WindowReport {
  1: required i32 protocol_version
  2: required string topology_id
  3: required string worker_id
  4: required string node
  5: required string host
  6: required i32 port
  7: required i64 sequence
  8: required i64 start_ms
  9: required i64 end_ms
  10: required list<EdgeCount> edges
  11: required list<TaskLoad> tasks
  /** Reports that this worker could not deliver since it started. */
  12: optional i64 dropped
  13: optional string token
  14: optional NodeLoad node_load
  /** Lines that this worker could not write to its metric log since it started. */
  15: optional i64 dropped_lines
}

// ---------------------------------------------------------------- status and errors

struct TopologyStatus {
  1: required string topology_id
  2: required string name
  3: required string mode
  4: required string algorithm
  5: optional PlanRef plan
  6: optional PlanCost cost_now
  7: optional PlanCost cost_planned
  8: optional string last_decision
  9: optional i64 last_decision_ms
  10: optional i32 edges
  11: optional double tuples_per_sec
}

struct BrainStatus {
  1: required i32 protocol_version
  2: required string brain
  3: required string version
  4: required bool leading
  5: optional string leader
  6: required i64 term
  7: required list<TopologyStatus> topologies
  8: optional i64 reports_received
  9: optional i64 reports_refused
  10: optional i64 snapshots_received
  11: optional i64 last_snapshot_ms
  12: optional map<string, string> details
}

struct ScheduleReply {
  1: required list<PlanRef> plans
  2: required i64 term
  /** Words for Storm's UI (Scheduler Info), by topology id. */
  3: optional map<string, string> notes
}

exception UnsupportedVersion {
  1: required i32 brain_version
  2: required i32 shim_version
  3: required string message
}

/** Ask the leader; its address where known, as host:port. */
exception NotLeader {
  1: optional string leader
  2: required string message
}

/** Too many requests or reports at once: come again later. */
exception Overloaded {
  1: required string message
}

/** A request that cannot be meant; names the field. */
exception BadRequest {
  1: required string field
  2: required string message
}

exception Unauthorised {
  1: required string message
}

service Brain {
  ScheduleReply schedule(1: ClusterState state) throws (
    1: UnsupportedVersion version, 2: NotLeader not_leader, 3: Overloaded overloaded,
    4: BadRequest bad_request, 5: Unauthorised unauthorised)

  /** Fire and forget: never answered, so a slow brain cannot hold a worker up. */
  oneway void report(1: WindowReport report)

  BrainStatus status(1: string token)

  /**
   * Questions of operators (CLI, dashboard): arguments and answer are JSON objects. Answered by
   * the leader; see brain/service/questions.py for the questions there are.
   */
  string ask(1: string token, 2: string question, 3: string arguments) throws (
    1: NotLeader not_leader, 2: Overloaded overloaded, 3: BadRequest bad_request,
    4: Unauthorised unauthorised)
}
