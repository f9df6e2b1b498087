// Package ssh is the machines that agents work on: dialling, host keys, exec, SFTP, jobs
// and shells. It knows nothing of chats and imports nothing of ours. Its issue
// comes later; the door is here so that nothing else moves in.
package ssh
