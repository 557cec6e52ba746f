//! Jobs for those who have a scheduler already: a Slurm array, an Indexed Job of Kubernetes. Either leaves run directories that
//! `iostone fleet collect` merges.

use std::fmt::Write;

/// What a job is to run.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// The experiment's name.
    pub name: &'a str,
    /// The experiment's text.
    pub text: &'a str,
    /// Hosts.
    pub hosts: u32,
    /// The seed that each host's own is drawn from.
    pub seed: u64,
    /// `--set` of `iostone run`.
    pub set: &'a [String],
    /// Minutes that the scheduler may give it.
    pub minutes: u64,
    /// Of Kubernetes: the image that has iostone.
    pub image: &'a str,
    /// The file that the job is written to, where it is known.
    pub file: Option<&'a str>,
}

/// Seconds that a run has to undo everything and the job to copy its records.
const GRACE: u64 = 180;

/// Where the experiment's text ends in a script; made longer where a text holds it.
const END: &str = "END_OF_EXPERIMENT";

impl Job<'_> {
    fn options(&self) -> String {
        self.set.iter().fold(String::new(), |mut options, one| {
            let _ = write!(options, " --set {}", iostone_stack::quote(one.as_ref()));
            options
        })
    }

    /// The file as a shell takes it, or a word in its place.
    fn file(&self) -> String {
        self.file.map_or_else(|| "FILE".to_owned(), |file| iostone_stack::quote(file.as_ref()))
    }

    /// The name as schedulers take it: lower case letters, digits and hyphens, letters first and last.
    fn label(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let label: String = self.name.chars().map(plain).take(40).collect();
        let label = label.trim_matches('-');
        if label.is_empty() { "iostone".to_owned() } else { format!("iostone-{label}") }
    }
}

/// The end of a job: waits for the run, which undoes everything at SIGTERM, and leaves its records in `$place`, packed where it has
/// ended by itself. Records that could not be copied stay where they are.
const KEEP: &str = r#"run=$!
trap 'kill -TERM "$run" || :' TERM
code=0
wait "$run" || code=$?
# A signal ends `wait` before the run has undone everything.
while kill -0 "$run" 2>/dev/null; do
    code=0
    wait "$run" || code=$?
done
trap '' TERM
if [ -f "$work/result.tar" ]; then
    mv "$work/result.tar" "$place/result.tar"
    rm -rf "$place/unfinished"
    echo "result: $place/result.tar" >&2
elif [ -d "$work/runs" ]; then
    mkdir -p "$place/unfinished"
    cp -R "$work/runs/." "$place/unfinished/" || { echo "the unfinished run stays in $work/runs" >&2; exit "$code"; }
    for kept in "$place/unfinished"/*/; do
        [ -d "$kept" ] || continue
        echo "unfinished: resume it on this host with: iostone run --resume $kept" >&2
    done
fi
rm -rf "$work"
exit "$code"
"#;

/// A script for `sbatch`: one task a host, each on a node of its own.
pub fn slurm(job: &Job<'_>) -> String {
    let mut end = END.to_owned();
    while job.text.contains(&end) {
        end.push('_');
    }
    let text = if job.text.ends_with('\n') { job.text.to_owned() } else { format!("{}\n", job.text) };
    // Half of a short job is for its run.
    let grace = GRACE.min(job.minutes * 30);
    format!(
        r#"#!/bin/sh
#SBATCH --job-name={label}
#SBATCH --array=0-{last}
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --exclusive
#SBATCH --time={minutes}
#SBATCH --signal=B:TERM@{grace}
#SBATCH --output=%x-%A_%a.log
# One run a node: sbatch {file}, then iostone fleet collect iostone-results/JOB
# The nodes need iostone in PATH, or IOSTONE=/path/to/iostone in the environment of sbatch.
# RESULTS must be a directory that every node sees. Loop devices and mounts need root; a `directory` volume does not.
# Slurm may start two tasks on one node one after the other; they are then two runs of one host, of which the first is taken.
# `--signal` has Slurm send SIGTERM {grace} s before the time limit (by default: at it). The run then stops, undoes everything, and
# what it has measured is kept in RESULTS/JOB/TASK/unfinished.
set -eu
umask 077
IOSTONE=${{IOSTONE:-iostone}}
RESULTS=${{RESULTS:-$SLURM_SUBMIT_DIR/iostone-results}}
place=$RESULTS/$SLURM_ARRAY_JOB_ID/$SLURM_ARRAY_TASK_ID
work=$(mktemp -d "${{TMPDIR:-/tmp}}/iostone.XXXXXX")
mkdir -p "$place"
cat > "$work/experiment.toml" <<'{end}'
{text}{end}
: > "$work/lease"
# The run decides for itself when it has seen enough.
"$IOSTONE" fleet host "$work" --fleet "slurm-$SLURM_ARRAY_JOB_ID" --host "${{SLURMD_NODENAME:-$(hostname)}}" \
    --seed {seed} --lease {minutes}min{options} &
{KEEP}"#,
        label = job.label(),
        file = job.file(),
        last = job.hosts.saturating_sub(1),
        minutes = job.minutes,
        seed = job.seed,
        options = job.options(),
    )
}

/// An Indexed Job with its configuration and a claim for the results, as YAML.
pub fn kubernetes(job: &Job<'_>) -> String {
    format!("{}---\n{}", claim_and_experiment(job), indexed_job(job))
}

fn claim_and_experiment(job: &Job<'_>) -> String {
    let label = job.label();
    let indented = job.text.lines().fold(String::new(), |mut text, line| {
        let _ = if line.is_empty() { writeln!(text) } else { writeln!(text, "    {line}") };
        text
    });
    format!(
        r#"# One run a node: kubectl apply -f {file}; when the Job is complete copy /results of the claim and
# iostone fleet collect results. The claim must allow many writers, or the pods must be on one node.
# A pod that is deleted or reaches the Job's deadline gets SIGTERM and {GRACE} s: the run stops, undoes everything, and what it has
# measured is kept in /results/{label}/INDEX/unfinished.
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {label}-results
spec:
  accessModes: ["ReadWriteMany"]
  resources:
    requests:
      storage: 10Gi
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {label}
data:
  experiment.toml: |
{indented}"#,
        file = job.file(),
    )
}

fn indexed_job(job: &Job<'_>) -> String {
    let label = job.label();
    let set = job.options();
    let script = format!(
        r#"set -eu
umask 077
work=/scratch/$JOB_COMPLETION_INDEX
place=/results/{label}/$JOB_COMPLETION_INDEX
mkdir -p "$work" "$place"
cp /experiment/experiment.toml "$work/experiment.toml"
: > "$work/lease"
iostone fleet host "$work" --fleet {label} --host "$NODE_NAME" --seed {seed} --lease {minutes}min{set} &
{KEEP}"#,
        seed = job.seed,
        minutes = job.minutes,
    );
    let script = script.lines().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "              {line}");
        text
    });
    format!(
        r#"apiVersion: batch/v1
kind: Job
metadata:
  name: {label}
spec:
  completionMode: Indexed
  completions: {hosts}
  parallelism: {hosts}
  backoffLimitPerIndex: 1
  activeDeadlineSeconds: {seconds}
  template:
    metadata:
      labels:
        app: {label}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: {GRACE}
      # A node each: two runs on one node would measure each other.
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels:
                  app: {label}
      containers:
        - name: iostone
          image: "{image}"
          # Loop devices, mounts and control groups of the node. A `directory` volume needs none of it: drop `privileged`,
          # and the volume `dev`.
          securityContext:
            privileged: true
            runAsUser: 0
          env:
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
          command: ["/bin/sh", "-c"]
          args:
            - |
{script}          volumeMounts:
            - name: experiment
              mountPath: /experiment
              readOnly: true
            - name: work
              mountPath: /scratch
            - name: results
              mountPath: /results
            - name: dev
              mountPath: /dev
      volumes:
        - name: experiment
          configMap:
            name: {label}
        - name: work
          emptyDir: {{}}
        - name: results
          persistentVolumeClaim:
            claimName: {label}-results
        - name: dev
          hostPath:
            path: /dev
            type: Directory
"#,
        hosts = job.hosts,
        seconds = job.minutes.saturating_mul(60),
        image = job.image.replace(['"', '\\', '\n'], ""),
    )
}
