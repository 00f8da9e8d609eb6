"""What studies with a model share: answers and measurements that are kept, so that nothing is asked
or measured twice and all can be replayed, and the schedule by which they come.
"""
