// Package nccl reads what NCCL says about itself: NCCL_DEBUG=INFO logs (and RCCL's, which have the same form) and the tables of
// nccl-tests. It tells, per process, the version, the network, the transport of each connection, channels, algorithms and
// warnings; Findings says what is wrong with them.
//
// Logs come as they are: several ranks in one stream or one file a rank, records glued to text the program printed, time
// stamps, mpirun and torchrun prefixes, colour codes, version lines without a prefix. What is no NCCL record is passed over.
//
// Facts used, from NCCL's source (2.4–2.28):
//   - NET/IB is RDMA over InfiniBand or RoCE; NET/Socket is TCP, never RDMA. P2P/… is GPU to GPU over NVLink or PCIe, SHM/… goes
//     through host memory.
//   - "Using network X" is what a communicator would use between nodes; the "via" lines are the connections really made.
//   - opCount is hexadecimal and, in some versions, always 0: collectives are matched by their order in a communicator, which
//     NCCL requires to be the same on all ranks.
//   - The comm pointer is one process' own; commId joins the ranks of one communicator.
//
// Imported by traceindex/load and analysis; it knows no trace.
package nccl
